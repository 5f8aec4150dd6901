"""Storing jobs together with the supervisors that own them from the first instant."""

from __future__ import annotations

from inturn import __version__
from inturn.errors import InturnError
from inturn.host import detach
from inturn.service import intake
from inturn.store import jobs, owners
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from inturn.core.spec import Submission
    from inturn.host.detach import Detached
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple


NO_PROCESS = "Nothing was submitted. Is there a limit on processes? See: ulimit -u"


class Newcomer(NamedTuple):
    """A supervisor that is not in the registry yet: its token, its identity as text, and its lock's file."""

    token: str
    identity: str
    lock: tuple[int, int]


def start_supervisor(context: Context, lock: int, *words: str) -> Detached:
    """Start a supervisor, or the process that forks several, which holds `lock`; `words` are its arguments.

    Raises InturnError `submission_failed` if the system has no process to give.
    """
    # Nothing of the submitter's environment, least of all the marks of a run.
    environment = {"INTURN_DIR": context.directory, "LC_ALL": "C.UTF-8"}
    try:
        return detach.start((*context.supervisor, context.directory, *words), environment, lock)
    except OSError as error:
        raise InturnError(
            "submission_failed", f"no supervisor can be started: {error.strerror}", NO_PROCESS
        ) from error


def store_owned(
    context: Context, submissions: Sequence[Submission], newcomers: Sequence[Newcomer]
) -> list[int]:
    """Store each job together with its supervisor, all in one transaction; returns the ids of the jobs.

    Raises as `intake.store_all`, and InturnError `failed` if nothing was stored.
    """
    store = context.store
    assert store is not None
    now = context.now()
    try:
        with store.writing():
            rows = [
                owners.register(store, "supervisor", one.token, one.identity, one.lock, __version__, now)
                for one in newcomers
            ]
            return intake.store_all(context, submissions, rows, now)
    except CommitUnknown as failure:
        found = [owners.by_token(store, one.token) for one in newcomers]
        if None in found:
            raise InturnError("failed", str(failure), "Nothing was submitted.") from failure
        return [jobs.owned_by(store, one.id)[0].id for one in found if one is not None]

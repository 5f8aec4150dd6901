"""Storing jobs together with the supervisors that own them from the first instant."""

from __future__ import annotations

from inturn import __version__
from inturn.errors import InturnError
from inturn.service import intake
from inturn.store import jobs, owners
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from inturn.core.spec import Submission
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple


class Newcomer(NamedTuple):
    """A supervisor that is not in the registry yet: its token, its identity as text, and its lock's file."""

    token: str
    identity: str
    lock: tuple[int, int]


def environment_of(context: Context) -> dict[str, str]:
    """The environment of a supervisor: nothing of the submitter's, least of all the marks of a run."""
    return {"INTURN_DIR": context.directory, "LC_ALL": "C.UTF-8"}


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

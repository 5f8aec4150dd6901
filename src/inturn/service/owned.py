"""Storing jobs together with the supervisors that own them from the first instant."""

from __future__ import annotations

from inturn import __version__
from inturn.host import faults
from inturn.service import intake
from inturn.store import owners
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from inturn.core.spec import Submission
    from inturn.service.context import Context
    from inturn.service.intake import Stored
else:
    from inturn.core.records import NamedTuple


class Newcomer(NamedTuple):
    """A supervisor that is not in the registry yet: its token, its identity as text, and its lock's file."""

    token: str
    identity: str
    lock: tuple[int, int]


def store_owned(context: Context, submissions: Sequence[Submission], newcomers: Sequence[Newcomer]) -> Stored:
    """Store each job together with its supervisor, all in one transaction.

    A newcomer for whose submission nothing was stored is not registered. Raises as `intake.store_all`, and
    InturnError `failed` if the commit failed.
    """
    store = context.store
    assert store is not None
    now = context.now()
    drafts = intake.draft_all(submissions, owned=True, now=now)
    try:
        with faults.commit("submit", store.writing()):
            rows = [
                owners.register(store, "supervisor", one.token, one.identity, one.lock, __version__, now)
                for one in newcomers
            ]
            stored = intake.store_all(context, drafts, rows, now)
            for at in stored.twins:
                owners.retire(store, rows[at])
    except CommitUnknown as failure:
        registered = (newcomers[at] for at in range(len(newcomers)) if at not in stored.twins)
        if any(owners.by_token(store, one.token) is None for one in registered):
            raise intake.nothing_stored(failure) from failure
    return stored

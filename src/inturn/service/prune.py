"""Removing jobs that have ended, with their runs, events and logs."""

from __future__ import annotations

from time import sleep

from inturn.host import faults, logs
from inturn.host.paths import discard
from inturn.service import log_dirs
from inturn.store import prune as rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from inturn.service.context import Context
    from inturn.store.db import Store
    from inturn.store.prune import Picked
else:
    from inturn.core.records import NamedTuple

# Jobs that are removed in one transaction: a bound on how long the write lock is held.
AT_ONCE = 200

# Between two transactions somebody else gets the write lock, in seconds.
_PAUSE = 0.002


class Pruned(NamedTuple):
    """What was removed, or would be; and how much stays although it was picked, and why.

    `needed`: others depend on it; `arrays`: a job of its array stays; `alive`: it has left processes that
    still hold its log.
    """

    ids: tuple[int, ...]
    needed: int = 0
    arrays: int = 0
    alive: int = 0


def preview(context: Context, picked: Picked) -> Pruned:
    """What `prune` would remove."""
    store = context.store
    if store is None:
        return Pruned(())
    alive = _alive(context, store)
    with store.reading():
        found = rows.survey(store, picked, alive)
    return Pruned(found.removable, len(found.needed), len(found.arrays), len(alive))


def prune(context: Context, picked: Picked) -> Pruned:
    """Remove ended jobs, in bounded transactions. What has changed in the meantime stays.

    Somebody who submits a job that depends on one of them either sees it, and it stays, or is told that there
    is no such job. Their logs go after the commit: whoever is reading one has it open and reads on. At
    last those directories of logs go that nothing can come into any more.
    """
    store = context.store
    found = preview(context, picked)
    if store is None:
        return found
    removed: list[int] = []
    todo = found.ids
    # A dependent with a smaller id than what it depends on (they came in one file) makes another round.
    while gone := _round(context, store, todo):
        removed += gone
        todo = tuple(sorted(set(todo).difference(gone), reverse=True))
    faults.point("prune.sweeping")
    log_dirs.sweep(context, store)
    return found._replace(ids=tuple(removed), needed=found.needed + len(todo))


def _round(context: Context, store: Store, todo: Sequence[int]) -> list[int]:
    gone: list[int] = []
    for start in range(0, len(todo), AT_ONCE):
        with faults.commit("prune", store.writing()):
            removed = rows.remove(store, todo[start : start + AT_ONCE])
        for log in removed.logs:
            discard(*logs.files(f"{context.directory}/{log}"))
        gone += removed.ids
        sleep(_PAUSE)
    return gone


def _alive(context: Context, store: Store) -> set[int]:
    """Ended jobs whose processes were left running on purpose, and still hold a log of theirs."""
    return {
        job_id
        for job_id, log in rows.left_running(store)
        if logs.alive(f"{context.directory}/{log}", None) == "held"
    }

"""Removing jobs that have ended: what may go, and one bounded piece of it at a time."""

from __future__ import annotations

from inturn.core.layout import JOBS_PER_DIRECTORY
from inturn.core.pruning import behind, choose
from inturn.store.admin import last_id
from inturn.store.rows import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import NamedTuple

    from inturn.core.pruning import Removal
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# Who needs a job: a dependent that has not ended, and one that has ended without having judged it, or because
# of it: a new round of that would have to judge it.
_NEEDS = """
    SELECT parent_id, edges.job_id FROM edges JOIN jobs ON jobs.id = edges.job_id
    WHERE (phase <> 'completed' OR observed_at IS NULL
        OR instr(',' || outcomes || ',', ',' || observed_outcome || ',') = 0)
"""


class Picked(NamedTuple):
    """Which ended jobs are to go.

    Completed before `before` (wall µs), all but the newest `keep`, with one of these `outcomes`; None and ()
    ask for nothing.
    """

    before: int | None = None
    keep: int | None = None
    outcomes: tuple[str, ...] = ()


class Removed(NamedTuple):
    """Jobs that were removed, and the stems of their logs, relative to the store."""

    ids: tuple[int, ...]
    logs: tuple[str, ...]


def survey(store: Store, picked: Picked, spared: Collection[int]) -> Removal:
    """What of the picked jobs may be removed; `spared` are left out. In a read transaction."""
    where = ["phase = 'completed'"]
    values: list[object] = []
    if picked.outcomes:
        where.append(f"outcome IN ({marks(picked.outcomes)})")
        values += picked.outcomes
    found: Iterable[tuple[int, int | None, int]] = store.execute(
        f"SELECT id, array_id, completed_at FROM jobs WHERE {' AND '.join(where)}"
        " ORDER BY id DESC LIMIT -1 OFFSET ?",
        (*values, picked.keep or 0),
    )
    candidates = {
        job_id: array
        for job_id, array, completed_at in found
        if job_id not in spared and (picked.before is None or completed_at < picked.before)
    }
    sizes = dict(
        store.execute("SELECT array_id, count(*) FROM jobs WHERE array_id IS NOT NULL GROUP BY array_id")
    )
    return choose(candidates, store.execute(_NEEDS), sizes)


def left_running(store: Store) -> list[tuple[int, str]]:
    """Completed jobs that may have left processes on purpose, with the stems of their logs."""
    rows = store.execute(
        """
        SELECT runs.job_id, log FROM specs JOIN jobs ON jobs.id = specs.job_id AND phase = 'completed'
        JOIN runs ON runs.job_id = specs.job_id WHERE leave_children
        """
    )
    return [(job_id, log) for job_id, log in rows]


def remove(store: Store, ids: Sequence[int]) -> Removed:
    """Remove those of these jobs that still may go, in the present write transaction.

    Since they were picked, one may have got another round or a new dependent.
    """
    wanted = (_list(ids),)
    within = "IN (SELECT value FROM json_each(?))"
    ended = dict(
        store.execute(f"SELECT id, array_id FROM jobs WHERE id {within} AND phase = 'completed'", wanted)
    )
    alive = {array for array in set(ended.values()) if array is not None and _is_alive(store, array)}
    ended = {job_id: None for job_id, array in ended.items() if array not in alive}
    needs = store.execute(f"{_NEEDS} AND parent_id {within}", wanted)
    going = choose(ended, needs, {}).removable
    wanted = (_list(going),)
    logs = tuple(log for (log,) in store.execute(f"SELECT log FROM runs WHERE job_id {within}", wanted))
    used = store.execute(f"SELECT DISTINCT environment FROM specs WHERE job_id {within}", wanted)
    environments = [number for (number,) in used]
    for statement in (
        f"DELETE FROM events WHERE job_id {within}",
        f"DELETE FROM edges WHERE parent_id {within}",
        f"DELETE FROM jobs WHERE id {within}",
    ):
        store.execute(statement, wanted)
    store.execute(
        f"""
        DELETE FROM environments WHERE id {within}
            AND NOT EXISTS (SELECT 1 FROM specs WHERE environment = environments.id)
        """,
        (_list(environments),),
    )
    return Removed(going, logs)


def vacated(store: Store, there: Iterable[int]) -> list[int]:
    """Those of these directories of logs, by number, in which no run can begin any more.

    None of their jobs is left, and none is to come. In a read transaction; it holds for ever after.
    """
    rows = store.execute(
        """
        SELECT value FROM json_each(?1) WHERE NOT EXISTS
            (SELECT 1 FROM jobs WHERE id BETWEEN value * ?2 AND value * ?2 + ?2 - 1)
        """,
        (_list(behind(there, last_id(store))), JOBS_PER_DIRECTORY),
    )
    return [number for (number,) in rows]


def _is_alive(store: Store, array: int) -> bool:
    """Whether a job of the array has not ended."""
    query = "SELECT 1 FROM jobs WHERE array_id = ? AND phase <> 'completed' LIMIT 1"
    return store.row(query, (array,)) is not None


def _list(ids: Iterable[int]) -> str:
    return f"[{','.join(map(str, ids))}]"

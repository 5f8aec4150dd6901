"""Queues: what a draining worker asks about its own, in the snapshot of its failed claim; which there are."""

from __future__ import annotations

from inturn.core.drain import Candidate, settled
from inturn.core.job import IN_LINE
from inturn.store import held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from inturn.core.held import Held
    from inturn.store.db import Store

_CANDIDATE = "SELECT id, phase, held_phase, attempts, in_line, queue, pool, owner FROM jobs"


def is_settled(store: Store, queues: Collection[str]) -> bool:
    """Whether nothing in these queues holds a drain open; see `inturn.core.drain`.

    Cheap as long as something does: what is active, in line or in backoff is counted, so that many jobs that
    are delayed cost nothing, and only if there is none are the waiting jobs looked at. What stands in a queue
    or pool that is paused is going nowhere.
    """
    marks = ", ".join("?" * len(queues))
    names = tuple(queues)
    if store.row(f"SELECT 1 FROM admissions WHERE queue IN ({marks}) LIMIT 1", names) is not None:
        return False
    counted = f"""
        SELECT queue, pool FROM tallies
        WHERE queue IN ({marks}) AND status IN ('queued', 'backoff') AND jobs > 0
    """
    paused = held.load(store)
    if not all(paused.over(queue, pool) for queue, pool in store.execute(counted, names)):
        return False
    # Many wait for few: one look at each job that is waited for, and none after one that goes somewhere.
    rows = store.execute(
        f"""
        SELECT DISTINCT parent_id FROM jobs JOIN edges ON edges.job_id = jobs.id AND edges.observed_at IS NULL
        WHERE jobs.phase = 'waiting' AND jobs.queue IN ({marks})
        """,
        names,
    )
    alive = served(store)
    waiting = (
        Candidate(0, "waiting", None, 0, due=False, supervised=False, served=True, parents=(parent,))
        for (parent,) in rows
    )
    return settled(waiting, lambda job_id: _candidate(store, job_id, alive, paused))


def _candidate(store: Store, job_id: int, alive: set[str], paused: Held) -> Candidate:
    found, phase, held_phase, attempts, in_line, queue, pool, owner = store.row(
        _CANDIDATE + " WHERE id = ?", (job_id,)
    )
    minded = queue in alive if queue else _lives(store, owner)
    parents = store.execute("SELECT parent_id FROM edges WHERE job_id = ? AND observed_at IS NULL", (job_id,))
    return Candidate(
        found,
        phase,
        held_phase,
        attempts,
        in_line >= IN_LINE,
        not queue,
        minded,
        tuple(parent for (parent,) in parents),
        held=bool(paused.over(queue, pool)),
    )


def is_known(store: Store, queue: str) -> bool:
    """Whether there has been a job in a queue, or a worker serves it: any name may be that of a queue."""
    return any(
        store.row(f"SELECT 1 FROM {table} WHERE queue = ? LIMIT 1", (queue,)) is not None
        for table in ("tallies", "worker_queues")
    )


def served(store: Store) -> set[str]:
    """The queues that have a live worker, whether or not it has a free place now."""
    rows = store.execute(
        """
        SELECT DISTINCT queue FROM worker_queues JOIN owners ON owners.id = owner
        WHERE accepting AND gone_at IS NULL
        """
    )
    return {queue for (queue,) in rows}


def servers(store: Store, queue: str) -> set[int]:
    """The owners that claim from a queue and have not been proven dead."""
    rows = store.execute(
        """
        SELECT owner FROM worker_queues JOIN owners ON owners.id = owner
        WHERE queue = ? AND accepting AND gone_at IS NULL
        """,
        (queue,),
    )
    return {owner for (owner,) in rows}


def _lives(store: Store, owner: int | None) -> bool:
    return (
        owner is not None
        and store.row("SELECT 1 FROM owners WHERE id = ? AND gone_at IS NULL", (owner,)) is not None
    )

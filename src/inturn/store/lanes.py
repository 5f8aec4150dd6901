"""What a draining worker asks about its queues, in the snapshot of its failed claim."""

from __future__ import annotations

from inturn.core.drain import Candidate, settled
from inturn.core.job import IN_LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from inturn.store.db import Store

_CANDIDATE = "SELECT id, phase, held_phase, attempts, in_line, queue, owner FROM jobs"


def is_settled(store: Store, queues: Collection[str]) -> bool:
    """Whether nothing in these queues holds a drain open; see `inturn.core.drain`.

    Cheap as long as something does: what is active, in line or in backoff is found by its index before the
    waiting jobs are looked at.
    """
    marks = ", ".join("?" * len(queues))
    names = tuple(queues)
    if store.row(f"SELECT 1 FROM admissions WHERE queue IN ({marks}) LIMIT 1", names) is not None:
        return False
    for condition in ("phase = 'queued' AND in_line > 0", "phase = 'queued' AND attempts > 0"):
        query = f"SELECT 1 FROM jobs WHERE {condition} AND queue IN ({marks}) LIMIT 1"
        if store.row(query, names) is not None:
            return False
    # Many wait for few: one look at each job that is waited for.
    rows = store.execute(
        f"""
        SELECT DISTINCT parent_id FROM jobs JOIN edges ON edges.job_id = jobs.id AND edges.observed_at IS NULL
        WHERE jobs.phase = 'waiting' AND jobs.queue IN ({marks})
        """,
        names,
    )
    parents: list[int] = [row[0] for row in rows]
    alive = served(store)
    waiting = [
        Candidate(0, "waiting", None, 0, due=False, supervised=False, served=True, parents=(parent,))
        for parent in parents
    ]
    return settled(waiting, lambda job_id: _candidate(store, job_id, alive))


def _candidate(store: Store, job_id: int, alive: set[str]) -> Candidate:
    found, phase, held_phase, attempts, in_line, queue, owner = store.row(
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


def _lives(store: Store, owner: int | None) -> bool:
    return (
        owner is not None
        and store.row("SELECT 1 FROM owners WHERE id = ? AND gone_at IS NULL", (owner,)) is not None
    )

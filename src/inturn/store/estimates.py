"""What earlier jobs took, read to estimate what others will take."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.store.db import Store

# So many jobs of the name are looked at on either side of the one in question, so that a million of them
# cost no more than a hundred. Those below it ran before it; those above it tell, where many are awaited and
# the first of them takes longest, what the later ones took.
NEAREST = 100

_SIDE = """
    SELECT runs.finished_at - runs.started_at FROM (
        SELECT id, runs, outcome FROM jobs INDEXED BY jobs_name WHERE name = ? AND id {} LIMIT ?
    ) AS job JOIN runs ON runs.job_id = job.id AND runs.number = job.runs
    WHERE job.outcome = 'success' AND runs.outcome = 'success' AND runs.started_at IS NOT NULL
"""
BEFORE = _SIDE.format("< ? ORDER BY id DESC")
AFTER = _SIDE.format("> ? ORDER BY id")


def durations(store: Store, name: str, job_id: int) -> list[int]:
    """Microseconds that the last runs of successful jobs of this name took, of those nearest to the job."""
    return [
        max(took, 0)
        for statement in (BEFORE, AFTER)
        for (took,) in store.execute(statement, (name, job_id, NEAREST))
    ]


def started(store: Store, job_id: int, number: int) -> int | None:
    """When a run was started, in wall microseconds."""
    row = store.row("SELECT started_at FROM runs WHERE job_id = ? AND number = ?", (job_id, number))
    return None if row is None or row[0] is None else int(row[0])

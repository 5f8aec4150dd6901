"""How long jobs may still take, judged by earlier ones of the same name. An estimate, never a promise."""

from __future__ import annotations

from inturn.core.job import ACTIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NamedTuple

    from inturn.core.job import Job
else:
    from inturn.core.records import NamedTuple


class Usual(NamedTuple):
    """What earlier successful runs took: their median in microseconds, and how many they were."""

    median: int
    runs: int


def usual(durations: Sequence[int]) -> Usual | None:
    """The median of durations in microseconds; None without any."""
    if not durations:
        return None
    ordered = sorted(durations)
    middle = len(ordered) // 2
    upper = ordered[middle]
    return Usual(upper if len(ordered) % 2 else (ordered[middle - 1] + upper) // 2, len(ordered))


def left(job: Job, known: Usual, wall: int) -> int:
    """Microseconds that are left of a job that has not ended; 0 for one that takes longer than usual."""
    if job.phase not in ACTIVE or job.started_at is None:
        return known.median
    return max(known.median - (wall - job.started_at), 0)


def remaining(jobs: Iterable[Job], known: Mapping[str, Usual], wall: int) -> int | None:
    """Microseconds until the last of the jobs may have ended; None if of one of them nothing is known.

    As many go on at once as are active now, at least one; none of them ends before its own time is over.
    """
    spans: list[int] = []
    active = 0
    for job in jobs:
        if job.phase == "completed":
            continue
        its = None if job.name is None else known.get(job.name)
        if its is None:
            return None
        spans.append(left(job, its, wall))
        active += job.phase in ACTIVE
    return max(max(spans), sum(spans) // max(active, 1)) if spans else None

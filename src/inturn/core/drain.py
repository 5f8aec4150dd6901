"""When a queue is settled, so that a draining worker may stop.

The rule is the one of the document on drain semantics: running jobs, eligible jobs and retry backoff
hold the drain open, a user's delay does not. It is extended to jobs that wait for other jobs: they hold it
open as long as one of those is going somewhere.
"""

from __future__ import annotations

from inturn.core.job import ACTIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple


class Candidate(NamedTuple):
    """A job as the drain sees it.

    `held_phase` is set while it is paused, `due` says whether its time has come, `served` whether somebody
    would run it: a supervisor that lives, or a live worker of its queue. `parents` are the ids of the jobs
    that it still waits for: its edges without a receipt.
    """

    id: int
    phase: str
    held_phase: str | None
    attempts: int
    due: bool
    supervised: bool
    served: bool
    parents: tuple[int, ...] = ()


def settled(jobs: Iterable[Candidate], lookup: Callable[[int], Candidate]) -> bool:
    """Whether none of a queue's jobs holds the drain open. `lookup` gives the jobs that they wait for."""
    return not any(_holds_open(job, lookup, set()) for job in jobs)


def _holds_open(job: Candidate, lookup: Callable[[int], Candidate], seen: set[int]) -> bool:
    if job.phase in ACTIVE or job.phase == "submitting":
        return True
    if job.phase == "paused":
        return job.held_phase in ACTIVE
    if job.phase == "queued":
        return job.due or job.attempts > 0
    if job.phase == "waiting":
        return any(_goes_somewhere(lookup(parent), lookup, seen) for parent in job.parents)
    return False


def _goes_somewhere(parent: Candidate, lookup: Callable[[int], Candidate], seen: set[int]) -> bool:
    """Whether a job that is waited for will change the waiting one's state without anybody's help."""
    if parent.phase == "completed":
        return True  # It has not been looked at yet.
    if parent.id in seen:
        return False
    seen.add(parent.id)
    if parent.phase in ACTIVE:
        return True
    if parent.phase == "paused":
        return parent.held_phase in ACTIVE
    if parent.supervised:
        return parent.served
    if parent.phase == "queued" and parent.attempts > 0 and not parent.due:
        return True  # In backoff.
    return parent.served and _holds_open(parent, lookup, seen)

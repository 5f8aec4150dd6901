"""When a queue is settled, so that a draining worker may stop.

The rule is the one of the document on drain semantics: running jobs, eligible jobs and retry backoff
hold the drain open, a user's delay does not. It is extended to jobs that wait for other jobs: they hold it
open as long as one of those is going somewhere. What is paused without a process, alone or together with its
queue or its pool, does not.
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
    that it still waits for: its edges without a receipt. `held` says that its queue or its pool is paused.
    """

    id: int
    phase: str
    held_phase: str | None
    attempts: int
    due: bool
    supervised: bool
    served: bool
    parents: tuple[int, ...] = ()
    held: bool = False


def settled(jobs: Iterable[Candidate], lookup: Callable[[int], Candidate]) -> bool:
    """Whether none of a queue's jobs holds the drain open. `lookup` gives the jobs that they wait for.

    `jobs` is read no further than to the first that holds it open, and each job that is waited for is looked
    up once, however many wait for it and however long the chain is.
    """
    seen: set[int] = set()
    return not any(_holds_open(job) or _waits_for_some(job, lookup, seen) for job in jobs)


def _holds_open(job: Candidate) -> bool:
    if job.phase == "queued":
        return not job.held and (job.due or job.attempts > 0)
    return job.phase in ACTIVE or (job.phase == "paused" and job.held_phase in ACTIVE)


def _waits_for_some(job: Candidate, lookup: Callable[[int], Candidate], seen: set[int]) -> bool:
    """Whether a waiting job waits, over however many others, for one that goes somewhere."""
    todo = list(_unmet(job))
    while todo:
        parent_id = todo.pop()
        if parent_id not in seen:
            seen.add(parent_id)
            parent = lookup(parent_id)
            if _goes_somewhere(parent):
                return True
            # What waits in a queue that nobody serves stays where it is, whatever it waits for.
            if parent.served:
                todo.extend(_unmet(parent))
    return False


def _unmet(job: Candidate) -> tuple[int, ...]:
    return job.parents if job.phase == "waiting" else ()


def _goes_somewhere(parent: Candidate) -> bool:
    """Whether a job that is waited for will by itself come to an end, or has just done so.

    Of one that waits this is not known yet: see what it waits for.
    """
    if parent.phase == "completed":
        return True  # The one that waits has not been looked at yet.
    if parent.phase in ACTIVE or parent.phase == "paused":
        return _holds_open(parent)
    if parent.held:
        return False
    if parent.supervised:
        return parent.served
    if parent.phase == "queued" and parent.attempts > 0 and not parent.due:
        return True  # In backoff.
    return parent.served and _holds_open(parent)

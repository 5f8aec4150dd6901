"""Acting on jobs that exist, and waiting for them."""

from __future__ import annotations

from time import sleep

from inturn.core import transitions
from inturn.core.duration import format_duration
from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.transitions import TABLE, Event
from inturn.errors import InturnError
from inturn.host import faults
from inturn.service.acting import check_reached, existing, load
from inturn.store import jobs, settle, watch
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import NamedTuple

    from inturn.core.job import Job
    from inturn.core.transitions import Transition
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# How often a waiting command asks whether the store has changed (µs): often at first, when most waits end.
_FIRST_INTERVAL = 20 * MILLISECOND
_LONGEST_INTERVAL = 100 * MILLISECOND

# How often it looks whether the owners of the awaited jobs live (µs).
TEND_EVERY = 3 * SECOND

# A look at very many jobs may take at most one part in so many of the time.
_LOOK_SHARE = 10

# A message names at most so many jobs.
_NAMED = 10


class Cancelled(NamedTuple):
    """What a cancellation came to.

    `job` is as it is afterwards. `verdict` is `cancelled` for a job that had no target and has ended;
    `stopping` for one whose owner is now to stop its target, or was already to do so because of a
    cancellation; `ended` for one that had ended before, which is untouched.
    """

    job: Job
    verdict: str


def cancel(context: Context, job_ids: Iterable[int]) -> list[Cancelled]:
    """Cancel jobs, all in one transaction; what became of each, in the order given.

    The intent to stop a target is durable when this returns; its owner sends the signals. What had ended
    already is no error here: see `refusal`. Raises InturnError `not_found`, and then nothing is cancelled.
    """
    store = existing(context)
    wanted = list(dict.fromkeys(job_ids))
    results: list[Cancelled] = []
    try:
        with faults.commit("cancel", store.writing()):
            now = context.now()
            jobs.commit(store, settle.late(store, now), now)
            batch: list[Transition] = []
            for job_id in wanted:
                job = load(store, job_id)
                event = _cancellation(job)
                if event is not None:
                    batch.append(transitions.apply(job, event, now))
                    job = batch[-1].after
                elif job.phase == "completed":
                    results.append(Cancelled(job, "ended"))
                    continue
                results.append(Cancelled(job, "cancelled" if job.phase == "completed" else "stopping"))
            jobs.commit(store, batch, now)
    except CommitUnknown as failure:
        check_reached(store, [result.job for result in results], failure)
    return results


def _cancellation(job: Job) -> Event | None:
    """The event that cancels a job; None if it has ended or is already being stopped for that."""
    if job.phase in TABLE["cancelled"][0] and not transitions.holds_slots(job):
        return Event("cancelled", "completed", "requested", "cancelled")
    if job.phase in TABLE["stop_requested"][0] and transitions.heavier("cancelled", job.stop_reason):
        return Event("stop_requested", "stopping", "cancelled")
    return None


def refusal(results: Sequence[Cancelled]) -> InturnError | None:
    """The error that jobs which had ended before make of a cancellation, or None.

    `conflict` if none could be cancelled, `incomplete` if others were.
    """
    ended = [result.job for result in results if result.verdict == "ended"]
    if not ended:
        return None
    told = ", ".join(f"{job.id} ({job.outcome})" for job in ended[:_NAMED])
    message = f"already ended: {_jobs_word(len(ended))} {told}" + (", …" if len(ended) > _NAMED else "")
    if len(ended) == len(results):
        return InturnError("conflict", message, "What has ended cannot be cancelled.")
    return InturnError("incomplete", message, f"The other {len(results) - len(ended)} were cancelled.")


def wait_for(
    context: Context,
    job_ids: Iterable[int],
    timeout: int | None = None,
    progress: Callable[[Sequence[Job]], None] | None = None,
    tend: Callable[[Collection[int]], None] | None = None,
    pause: Callable[[float], object] = sleep,
) -> list[Job]:
    """Block until all these jobs are completed; they, in the order given.

    `timeout` is in microseconds of elapsed time. `progress` is told the jobs at first and whenever one has
    changed. `tend` is called now and then with those that are awaited, to see whether their owners live.
    `pause` sleeps for the seconds that it is given. Jobs that nobody owns are settled meanwhile: a deadline
    that has passed ends them without a worker. Raises NoSuchJob for a job that is no more, InturnError
    `not_found` if there is no store, `store_unusable` if it was removed or replaced meanwhile, `incomplete`
    after the timeout, and what `pause` raises.
    """
    store = existing(context)
    started = tended = context.now().mono
    _catch_up(context, store)
    version = store.version()
    awaited = _Awaited(store, job_ids)
    cost = 0
    while True:
        if progress is not None and awaited.changed:
            progress(awaited.jobs)
        if not awaited.open:
            return awaited.jobs
        elapsed = context.now().mono - started
        if timeout is not None and elapsed >= timeout:
            raise _still_open(awaited, timeout)
        rest = max(_interval(elapsed), _LOOK_SHARE * cost)
        pause((rest if timeout is None else min(rest, timeout - elapsed)) / SECOND)
        awaited.changed = False
        store.check_in_place()
        acted = _catch_up(context, store)
        if tend is not None and context.now().mono - tended >= TEND_EVERY:
            tend(awaited.open)
            tended = context.now().mono
            acted = True
        # Asked before the look: what is committed in between will show as another version.
        fresh = store.version()
        # What we have committed ourselves does not show in the version.
        if acted or fresh != version:
            version = fresh
            before = context.now().mono
            awaited.look()
            cost = context.now().mono - before


def _catch_up(context: Context, store: Store) -> bool:
    """Settle what is overdue; whether anything may have changed by that.

    Who waits need not be able to write: on a full disk, what is overdue is left for later, or for others.
    """
    try:
        return jobs.catch_up(store, context.now)
    except InturnError:
        return False


class _Awaited:
    """Jobs as they were last seen, and which of them have not ended."""

    def __init__(self, store: Store, job_ids: Iterable[int]) -> None:
        self._store = store
        self._jobs = {job_id: load(store, job_id) for job_id in dict.fromkeys(job_ids)}
        self.open = [job.id for job in self._jobs.values() if job.phase != "completed"]
        self.changed = True

    @property
    def jobs(self) -> list[Job]:
        return list(self._jobs.values())

    def look(self) -> None:
        """Load those that have changed."""
        revisions = watch.revisions(self._store, self.open)
        for job_id in self.open:
            if revisions.get(job_id) != self._jobs[job_id].revision:
                self._jobs[job_id] = load(self._store, job_id)
                self.changed = True
        self.open = [job_id for job_id in self.open if self._jobs[job_id].phase != "completed"]


def _interval(elapsed: int) -> int:
    """From 20 to 100 ms, growing with the time waited; uneven, so that many waiters do not keep step."""
    interval = max(_FIRST_INTERVAL, min(elapsed // 20, _LONGEST_INTERVAL))
    return interval - elapsed % (interval // 5)


def _still_open(awaited: _Awaited, timeout: int) -> InturnError:
    told = ", ".join(map(str, awaited.open[:_NAMED])) + (", …" if len(awaited.open) > _NAMED else "")
    return InturnError(
        "incomplete",
        f"not ended within {format_duration(timeout)}: {_jobs_word(len(awaited.open))} {told}",
        f"See what it waits for: inturn why {awaited.open[0]}",
    )


def _jobs_word(count: int) -> str:
    return "job" if count == 1 else "jobs"

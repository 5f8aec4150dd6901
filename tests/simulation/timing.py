"""What must hold of times after every commit, whatever the wall clock does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inturn.core.job import NOT_IN_LINE
from inturn.core.retry import retry_delay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.simulation.change import Change


def nobody_enters_the_line_before_its_time(change: Change) -> Iterator[str]:
    """Elapsed delays go by the monotonic clock; other times must have been shown once by the wall clock."""
    clock = change.machine.clock
    now = clock.now()
    for new in change.after.jobs.values():
        old = change.before.jobs.get(new.id)
        if new.in_line == NOT_IN_LINE or new is old or (old is not None and old.in_line != NOT_IN_LINE):
            continue
        elapsed = new.due.boot == now.boot
        if new.due.at > now.mono if elapsed else new.due.wall > clock.furthest:
            yield f"job {new.id} entered the line {-new.due.remaining(now)} µs after it is due"


def a_pause_between_runs_is_kept(change: Change) -> Iterator[str]:
    """By the monotonic clock, from the end of the process on; jitter and edits may shorten it."""
    after, machine = change.after, change.machine
    for event in after.events:
        job = after.jobs[event.job_id]
        last = after.runs.get((job.id, job.runs - 1))
        if event.kind != "admitted" or last is None or last.round != job.round or job.id in machine.edited:
            continue
        target = machine.targets.get(last.token)
        policy = machine.spec(job.id).policy
        if target is None or target.lost_power or policy.jitter or last.outcome not in ("success", "failure"):
            continue
        pause = policy.delay if last.outcome == "success" else retry_delay(policy, job.failures, 0.5)
        passed = machine.clock.mono - target.ended_at
        if passed < pause:
            yield f"job {job.id} was admitted {passed} µs after its last run, not {pause}"


def the_time_of_a_job_changes_with_an_event(change: Change) -> Iterator[str]:
    """Only what is left of the delays of an earlier boot becomes a time of the wall clock by itself."""
    boot = change.machine.clock.boot
    events = {event.job_id for event in change.after.events}
    for old, new in change.pairs():
        if old.due != new.due and new.id not in events and old.due.boot in ("", boot):
            yield f"job {new.id} was due at {old.due}, now {new.due}, and nothing has happened to it"


RULES: tuple[Callable[[Change], Iterator[str]], ...] = (
    nobody_enters_the_line_before_its_time,
    a_pause_between_runs_is_kept,
    the_time_of_a_job_changes_with_an_event,
)

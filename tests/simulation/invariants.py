"""What must hold after every commit, whoever made it. Each rule yields what contradicts it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from inturn.core.job import IN_LINE, NOT_IN_LINE
from inturn.core.retry import retry_delay
from inturn.core.transitions import TABLE, holds_slots
from tests.simulation.process import Resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inturn.core.job import Job
    from tests.simulation.machine import Machine
    from tests.simulation.process import Process
    from tests.simulation.snapshot import Snapshot


class Change(NamedTuple):
    """One commit: the store before and after it, and who made it."""

    before: Snapshot
    after: Snapshot
    machine: Machine
    process: Process

    def pairs(self) -> Iterator[tuple[Job, Job]]:
        """Jobs that were there before, as they were and as they are, if they have changed."""
        for job_id, new in self.after.jobs.items():
            old = self.before.jobs.get(job_id)
            if old is not None and old is not new:
                yield old, new


def slots_are_held_exactly_by_active_jobs(change: Change) -> Iterator[str]:
    after = change.after
    active = {
        job.id: (job.runs, job.owner, job.pool, job.queue, job.slots)
        for job in after.jobs.values()
        if holds_slots(job)
    }
    held = {
        one.job_id: (one.run, one.owner, one.pool, one.queue, one.slots) for one in after.admissions.values()
    }
    for job_id in active.keys() | held.keys():
        if active.get(job_id) != held.get(job_id):
            phase = after.jobs[job_id].phase
            yield f"job {job_id} is {phase} ({active.get(job_id)}), its admission is {held.get(job_id)}"


def what_lives_has_its_slots(change: Change) -> Iterator[str]:
    """A process of a run lives only while the job is active with that run, or is left alone on purpose."""
    for target in change.machine.targets.values():
        if change.machine.must_be_gone(target):
            job = change.after.jobs[target.job_id]
            if not holds_slots(job) or job.runs != target.run:
                yield f"{target} lives, but job {job.id} is {job.phase} and its last run is {job.runs}"


def the_ledger_is_a_chain(change: Change) -> Iterator[str]:
    before = {job_id: job.phase for job_id, job in change.before.jobs.items()}
    last: dict[int, str | None] = dict(before)
    for event in change.after.events:
        if event.source != last.get(event.job_id):
            yield f"event {event.id}: job {event.job_id} was {last.get(event.job_id)}, not {event.source}"
        sources, targets = TABLE.get(event.kind, ((event.target,), (event.source,)))
        if event.target not in targets or (event.source not in sources if sources else event.source):
            yield f"event {event.id}: {event.kind} from {event.source} to {event.target}"
        last[event.job_id] = event.target
    for job in change.after.jobs.values():
        if job.phase != last.get(job.id):
            yield f"job {job.id} is {job.phase}; the ledger says {last.get(job.id)}"


def each_revision_has_its_event(change: Change) -> Iterator[str]:
    events = Counter(event.job_id for event in change.after.events)
    for old, new in change.pairs():
        if new.revision - old.revision != events[new.id]:
            yield f"job {new.id}: revision {old.revision} became {new.revision} with {events[new.id]} events"


def epochs_grow_with_each_owner(change: Change) -> Iterator[str]:
    for old, new in change.pairs():
        if new.epoch < old.epoch:
            yield f"job {new.id} went back from epoch {old.epoch} to {new.epoch}"
        if old.owner != new.owner and new.owner is not None and new.epoch == old.epoch:
            yield f"job {new.id} went from owner {old.owner} to {new.owner} within epoch {new.epoch}"


def what_has_ended_stays_so(change: Change) -> Iterator[str]:
    revived = {event.job_id for event in change.after.events if event.kind == "revived"}
    for old, new in change.pairs():
        if old.phase == "completed" and new.id not in revived:
            yield f"job {new.id} had ended, and changed: {_difference(old, new)}"


def receipts_are_written_once_a_round(change: Change) -> Iterator[str]:
    before, after = change.before, change.after
    revived = {event.job_id for event in after.events if event.kind == "revived"}
    for (job_id, parent_id), new in after.receipts.items():
        old = before.receipts.get((job_id, parent_id))
        if old is None or old == new:
            continue
        same_round = before.jobs[job_id].round == after.jobs[job_id].round
        if old.observed_at is not None and same_round:
            yield f"the receipt of job {job_id} for job {parent_id} changed from {old} to {new}"
        parent = after.jobs[parent_id]
        # One that was revived in the same transaction had ended before.
        if (
            parent_id not in revived
            and new.observed_at is not None
            and (new.outcome, new.revision, new.completed_at)
            != (
                parent.outcome,
                parent.revision,
                parent.completed_at,
            )
        ):
            yield f"the receipt of job {job_id} says {new}; job {parent_id} is {parent}"


def runs_are_numbered_once_and_end_once(change: Change) -> Iterator[str]:
    before, after = change.before, change.after
    for (job_id, number), new in after.runs.items():
        old = before.runs.get((job_id, number))
        if old is new:
            continue
        if old is None:
            known = before.jobs[job_id].runs if job_id in before.jobs else 0
            if number != known + 1:
                yield f"run {number} of job {job_id} follows run {known}"
        elif (old.token, old.log, old.attempt, old.round) != (new.token, new.log, new.attempt, new.round):
            yield f"run {job_id}.{number} has become another one"
        elif old.outcome is not None and old._replace(log_incomplete=new.log_incomplete) != new:
            yield f"run {job_id}.{number} had ended, and changed: {_difference(old, new)}"
        elif old.native_id not in ("", new.native_id):
            yield f"run {job_id}.{number} changed its process from {old.native_id} to {new.native_id}"
    if missing := before.runs.keys() - after.runs.keys():
        yield f"runs are gone: {sorted(missing)}"


def what_has_ended_has_no_open_run(change: Change) -> Iterator[str]:
    open_runs = {key for key, run in change.after.runs.items() if run.outcome is None}
    for job_id, number in open_runs:
        job = change.after.jobs[job_id]
        if job.runs != number or not holds_slots(job):
            yield f"run {job_id}.{number} is open, but the job is {job.phase} with run {job.runs}"


def tallies_count_the_jobs(change: Change) -> Iterator[str]:
    counted = Counter((job.queue, job.pool, job.status) for job in change.after.jobs.values())
    stored = {key: count for key, count in change.after.tallies.items() if count}
    if stored != dict(counted):
        yield f"the tallies say {stored}, there are {dict(counted)}"


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


def passes_are_counted_and_bounded(change: Change) -> Iterator[str]:
    """The count changes only when somebody is admitted: `admitting` says by how much."""
    admitted = [event.job_id for event in change.after.events if event.kind == "admitted"]
    edited = [event.job_id for event in change.after.events if event.kind == "edited"]
    for old, new in change.pairs():
        if not 0 <= new.bypass_count <= 3:
            yield f"job {new.id} was passed {new.bypass_count} times"
        reset = new.id in admitted or new.round != old.round or (new.id in edited and not new.bypass_count)
        if new.bypass_count != (0 if reset else old.bypass_count) and not admitted:
            yield f"job {new.id}: {old.bypass_count} passes, then {new.bypass_count}; nobody was admitted"
        if new.in_line == IN_LINE and new.phase != "queued":
            yield f"job {new.id} stands in line and is {new.phase}"


def everybody_is_answered_for(change: Change) -> Iterator[str]:
    """A supervised job always has an owner, a queued one while it is active and never while it is in line."""
    for job in change.after.jobs.values():
        if job.phase == "completed":
            expected = job.owner is None
        elif job.supervised or holds_slots(job):
            expected = job.owner in change.after.owners
        else:
            expected = job.phase != "queued" or job.owner is None
        if not expected:
            yield f"job {job.id} is {job.phase} with owner {job.owner}"


def only_its_own_work_is_lost(change: Change) -> Iterator[str]:
    """A run is lost, or withdrawn, only because somebody who had it in hand has died."""
    for event in change.after.events:
        if event.kind == "withdrawn" and (event.job_id, event.run) in change.machine.started():
            yield f"run {event.job_id}.{event.run} is said never to have begun"
        if event.kind != "lost":
            continue
        owners = change.machine.hands.get((event.job_id, event.run or 0), set())
        if all(_lives(change, row) for row in owners):
            yield f"run {event.job_id}.{event.run} is lost, though nobody has died who had it"


def remember_who_had_it(change: Change) -> Iterator[str]:
    """No rule: keeps the owners of each run for the one above."""
    for one in change.after.admissions.values():
        change.machine.hands.setdefault((one.job_id, one.run), set()).add(one.owner)
    yield from ()


def _lives(change: Change, row: int) -> bool:
    process = change.machine.by_row(row)
    return isinstance(process, Resident) and process.alive


def _difference(old: tuple[object, ...], new: tuple[object, ...]) -> str:
    names = type(old)._fields  # type: ignore[attr-defined]
    changed = [
        f"{name} {before!r} -> {after!r}"
        for name, before, after in zip(names, old, new, strict=True)
        if before != after
    ]
    return ", ".join(changed)


RULES: tuple[Callable[[Change], Iterator[str]], ...] = (
    slots_are_held_exactly_by_active_jobs,
    what_lives_has_its_slots,
    the_ledger_is_a_chain,
    each_revision_has_its_event,
    epochs_grow_with_each_owner,
    what_has_ended_stays_so,
    receipts_are_written_once_a_round,
    runs_are_numbered_once_and_end_once,
    what_has_ended_has_no_open_run,
    tallies_count_the_jobs,
    nobody_enters_the_line_before_its_time,
    a_pause_between_runs_is_kept,
    the_time_of_a_job_changes_with_an_event,
    passes_are_counted_and_bounded,
    everybody_is_answered_for,
    remember_who_had_it,
    only_its_own_work_is_lost,
)

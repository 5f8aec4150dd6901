"""What must hold of jobs after every commit, whoever made it. Each rule yields what contradicts it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inturn.core.job import IN_LINE
from inturn.core.transitions import TABLE, holds_slots
from tests.simulation.change import difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.simulation.change import Change


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
            yield f"job {new.id} had ended, and changed: {difference(old, new)}"


def tallies_count_the_jobs(change: Change) -> Iterator[str]:
    counted = Counter((job.queue, job.pool, job.status) for job in change.after.jobs.values())
    stored = {key: count for key, count in change.after.tallies.items() if count}
    if stored != dict(counted):
        yield f"the tallies say {stored}, there are {dict(counted)}"


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


RULES: tuple[Callable[[Change], Iterator[str]], ...] = (
    slots_are_held_exactly_by_active_jobs,
    what_lives_has_its_slots,
    the_ledger_is_a_chain,
    each_revision_has_its_event,
    epochs_grow_with_each_owner,
    what_has_ended_stays_so,
    tallies_count_the_jobs,
    passes_are_counted_and_bounded,
    everybody_is_answered_for,
)

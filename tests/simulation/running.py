"""What must hold of runs and receipts after every commit: what is once written stays, and is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inturn.core.transitions import holds_slots
from tests.simulation.change import difference
from tests.simulation.process import Resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.simulation.change import Change


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
            yield f"run {job_id}.{number} had ended, and changed: {difference(old, new)}"
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


def remember_who_had_it(change: Change) -> Iterator[str]:
    """No rule: keeps the owners of each run for the one above."""
    for one in change.after.admissions.values():
        change.machine.hands.setdefault((one.job_id, one.run), set()).add(one.owner)
    yield from ()


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


def _lives(change: Change, row: int) -> bool:
    process = change.machine.by_row(row)
    return isinstance(process, Resident) and process.alive


RULES: tuple[Callable[[Change], Iterator[str]], ...] = (
    receipts_are_written_once_a_round,
    runs_are_numbered_once_and_end_once,
    what_has_ended_has_no_open_run,
    remember_who_had_it,
    only_its_own_work_is_lost,
)

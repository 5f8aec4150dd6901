"""Changing what was asked for, as long as it has not been started."""

from __future__ import annotations

from inturn.core.duration import format_duration
from inturn.core.job import IN_LINE, NOT_IN_LINE
from inturn.core.moment import Deadline, after
from inturn.core.transitions import Event, Transition, holds_slots
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.spec import Spec
else:
    from inturn.core.records import NamedTuple


class Changes(NamedTuple):
    """What is to be different; None stays as it is.

    An empty `pool` takes the job out of its pool, and an empty `note` removes that. `delay` (elapsed
    microseconds from now) and `at` (wall microseconds) exclude each other.
    """

    priority: int | None = None
    queue: str | None = None
    pool: str | None = None
    slots: int | None = None
    delay: int | None = None
    at: int | None = None
    name: str | None = None
    note: str | None = None
    argv: tuple[bytes, ...] | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of what is to be different."""
        return tuple(name for name, value in zip(self._fields, self, strict=True) if value is not None)


def editable(job: Job) -> bool:
    """Whether the job waits for something: its gates, its time, its slots, or to be resumed."""
    return job.phase in ("waiting", "queued", "paused") and not holds_slots(job)


def check(job: Job, spec: Spec, changes: Changes, now: Now) -> None:
    """Refuse what a submission would refuse, the store's part of it apart.

    Raises InturnError `usage` for the queue of a supervised job, and `invalid_value` for a delay that ends
    after the job itself has to.
    """
    if changes.queue is not None and job.supervised:
        raise InturnError(
            "usage",
            f"--queue: job {job.id} has a supervisor of its own and stands in no queue",
            "Leave the option out.",
        )
    if changes.delay is None and changes.at is None:
        return
    due = _due(job, changes, now)
    option = "--after" if changes.delay is not None else "--at"
    # The time in which a job is paused does not count, and how long that will be is not known.
    if spec.job_timeout is not None and job.phase != "paused":
        left = spec.job_timeout - job.watch.elapsed(now)
        if due.remaining(now) > left:
            raise InturnError(
                "invalid_value",
                f"{option}: job {job.id} will be over before that, in {format_duration(max(left, 0))}",
                "Its --job-timeout runs from the submission on: choose an earlier time.",
            )
    abort_at = spec.policy.abort_at
    if job.attempts and abort_at is not None and due.wall > abort_at:
        raise InturnError(
            "invalid_value",
            f"{option}: no further run of job {job.id} may start so late",
            "Its --retry-abort-at says so: choose an earlier time.",
        )


def edit(job: Job, changes: Changes, now: Now) -> Transition:
    """The job with the changes, ready to be committed; no phase changes, but the revision does.

    The place in line follows from the new values. A request that asks for other slots, stands elsewhere or
    comes at another time has not been passed by anybody.
    """
    assert editable(job)
    changed = job._replace(revision=job.revision + 1)
    wanted: dict[str, Any] = changes._asdict()
    for field in ("priority", "queue", "pool", "slots", "name"):
        if wanted[field] is not None:
            changed = changed._replace(**{field: wanted[field]})
    due = _due(job, changes, now)
    if due != job.due:
        changed = changed._replace(due=due)
        if job.phase == "queued":
            changed = changed._replace(in_line=IN_LINE if due.reached(now) else NOT_IN_LINE)
    if (changed.queue, changed.pool, changed.slots, due) != (job.queue, job.pool, job.slots, job.due):
        changed = changed._replace(bypass_count=0)
    return Transition(job, changed, Event("edited", job.phase, ", ".join(changes.fields)), now.wall)


def _due(job: Job, changes: Changes, now: Now) -> Deadline:
    if changes.delay is not None:
        return after(now, changes.delay)
    if changes.at is not None:
        return Deadline(max(changes.at, now.wall))
    return job.due

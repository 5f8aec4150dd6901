"""The only place where a phase can change: one table, and one function that applies an event to a job.

The state diagram in the documentation is generated from TABLE, and the store writes nothing to a job's phase
that did not come from `apply`.
"""

from __future__ import annotations

from inturn.core.job import ACTIVE, IN_LINE, NOT_IN_LINE, STOP_REASONS, Job, Run
from inturn.core.moment import NO_DEADLINE, Deadline, Stopwatch, after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.core.spec import Submission
else:
    from inturn.core.records import NamedTuple

_WITH_TARGET = ("starting", "running", "paused", "stopping")

# event: (phases it may find, phases it may lead to). A submission finds none.
TABLE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "submitted": ((), ("submitting", "waiting", "queued")),
    "accepted": (("submitting",), ("waiting", "queued")),
    "submission_failed": (("submitting",), ("completed",)),
    "gates_opened": (("waiting",), ("queued",)),
    "aborted": (("waiting", "queued"), ("completed",)),
    "timed_out": (("waiting", "queued"), ("completed",)),
    "cancelled": (("submitting", "waiting", "queued", "paused"), ("completed",)),
    "admitted": (("queued",), ("starting",)),
    "withdrawn": (("starting", "stopping"), ("queued", "completed")),
    "started": (("starting",), ("running",)),
    "stop_requested": (("starting", "running", "paused", "stopping"), ("stopping",)),
    "leftovers_found": (_WITH_TARGET, ("stopping",)),
    "ended": (_WITH_TARGET, ("completed",)),
    "repeated": (_WITH_TARGET, ("queued",)),
    "lost": (_WITH_TARGET, ("completed", "queued")),
    "paused": (("waiting", "queued", "running"), ("paused",)),
    "resumed": (("paused",), ("waiting", "queued", "running")),
    "revived": (("completed",), ("waiting", "queued")),
}


# The reason of a run that was lost with the machine: it is not charged.
REBOOTED = "rebooted"


class Event(NamedTuple):
    """Something that happened, or was decided, to one job. `kind` is a key of TABLE and `to` a phase.

    Which of the other fields an event carries follows from its kind: `outcome` and `reason` end a job,
    `reason` says why a stop was asked for, `due` is when the job is next eligible (None: at once, at the
    present place), `run` is the run as it is after the event, `owner` is who was admitted.
    """

    kind: str
    to: str
    reason: str | None = None
    outcome: str | None = None
    due: Deadline | None = None
    run: Run | None = None
    owner: int | None = None


class Transition(NamedTuple):
    """A change of one job by an event, ready to be committed: the job before and after it.

    The run, if there is one to be stored, is in the event. `at` is when it happened (wall µs).
    """

    before: Job
    after: Job
    event: Event
    at: int


# What every new job begins with; the rest is in its submission.
_NEW = Job(
    id=0,
    revision=1,
    phase="",
    held_phase=None,
    outcome=None,
    reason=None,
    stop_reason=None,
    queue="",
    pool="",
    slots=1,
    priority=0,
    due=NO_DEADLINE,
    in_line=NOT_IN_LINE,
    bypass_count=0,
    round=1,
    attempts=0,
    successes=0,
    failures=0,
    runs=0,
    crashes=0,
    owner=None,
    epoch=0,
    watch=Stopwatch(),
    name=None,
    array_id=None,
    array_index=None,
    throttle=0,
    conditional=0,
    submitted_at=0,
    started_at=None,
    completed_at=None,
)


def submit(submission: Submission, gated: bool, owner: int | None, now: Now) -> Job:
    """The job that a submission makes, without an id yet.

    A supervised job is `submitting` until its supervisor accepts it; a queued one waits for its gates or
    stands in line. The whole-job timeout runs from here on.
    """
    due = after(now, submission.delay) if submission.delay else Deadline(max(submission.at or 0, now.wall))
    phase = "submitting" if owner is not None else "waiting" if gated else "queued"
    return _NEW._replace(
        phase=phase,
        queue=submission.queue,
        pool=submission.pool,
        slots=submission.slots,
        priority=submission.priority,
        due=due,
        in_line=IN_LINE if phase == "queued" and due.reached(now) else NOT_IN_LINE,
        owner=owner,
        epoch=1 if owner is not None else 0,
        watch=_NEW.watch.start(now),
        name=submission.name,
        array_index=submission.array_index,
        conditional=int(bool(submission.conditions)),
        submitted_at=now.wall,
    )


def apply(job: Job, event: Event, now: Now) -> Transition:
    """The transition of `job` by `event` at `now`.

    Raises ValueError if the table does not allow it: a caller that lost a race must re-read and decide again,
    so that this is always a fault of the program.
    """
    sources, targets = TABLE[event.kind]
    if job.phase not in sources or event.to not in targets:
        raise ValueError(f"job {job.id}: {event.kind} does not lead from {job.phase} to {event.to}")
    if not _fits_what_is_held(job, event):
        raise ValueError(f"job {job.id}: {event.kind} does not suit a job paused while {job.held_phase}")
    changed = job._replace(revision=job.revision + 1, phase=event.to, held_phase=None, in_line=NOT_IN_LINE)
    if event.kind == "revived":
        changed = _new_round(changed, event, now)
    elif event.kind == "paused":
        changed = changed._replace(held_phase=job.phase, watch=job.watch.halt(now))
    elif event.kind == "resumed":
        changed = changed._replace(watch=job.watch.start(now))
    if event.to == "completed":
        changed = changed._replace(
            outcome=event.outcome,
            reason=event.reason,
            stop_reason=None,
            completed_at=now.wall,
            watch=job.watch.halt(now),
            owner=None,
        )
    elif event.to == "queued":
        changed = _into_line(changed, event, now)
    elif event.kind == "admitted":
        assert event.run is not None
        changed = changed._replace(
            owner=event.owner,
            epoch=job.epoch + (event.owner != job.owner),
            attempts=job.attempts + 1,
            runs=event.run.number,
            bypass_count=0,
            started_at=job.started_at or now.wall,
        )
    elif event.kind == "stop_requested":
        assert event.reason in STOP_REASONS
        changed = changed._replace(stop_reason=event.reason)
    if job.phase == "paused" and event.to in ("stopping", "queued"):
        changed = changed._replace(watch=job.watch.start(now))
    if event.kind == "withdrawn":
        changed = changed._replace(attempts=job.attempts - 1)
    elif event.kind == "lost" and event.reason != REBOOTED:
        changed = changed._replace(crashes=job.crashes + 1)
    if event.run is not None:
        changed = count(changed, event.run)
    return Transition(job, changed, event, now.wall)


def _fits_what_is_held(job: Job, event: Event) -> bool:
    """A paused job goes on as what it was paused as; what has a target ends by stopping that."""
    if job.phase != "paused":
        return True
    if event.kind == "resumed":
        return event.to == job.held_phase
    return (job.held_phase in ACTIVE) == (event.kind != "cancelled")


def _new_round(job: Job, event: Event, now: Now) -> Job:
    """A job that has ended gets another round: a fresh budget, a fresh clock, and perhaps a supervisor."""
    return job._replace(
        outcome=None,
        reason=None,
        completed_at=None,
        started_at=None,
        round=job.round + 1,
        attempts=0,
        successes=0,
        failures=0,
        crashes=0,
        bypass_count=0,
        owner=event.owner,
        epoch=job.epoch + 1,
        watch=Stopwatch().start(now),
        due=event.due or Deadline(now.wall, now.boot, now.mono),
    )


def _into_line(job: Job, event: Event, now: Now) -> Job:
    """A job that goes (back) to the line; a queued one belongs to nobody until it is claimed again."""
    due = event.due or job.due
    if due.boot not in ("", now.boot):
        due = Deadline(due.wall)  # A delay of an earlier boot has become an absolute time.
    if job.queue:
        job = job._replace(owner=None)
    in_line = IN_LINE if due.reached(now) else NOT_IN_LINE
    return job._replace(due=due, in_line=in_line, stop_reason=None)


def count(job: Job, run: Run) -> Job:
    """The job with a run that has just got its outcome counted.

    A lost run consumes no retry, nor does one that was cancelled: the job ends, or its worker had to stop.
    """
    if run.outcome in (None, "lost", "cancelled"):
        return job
    if run.outcome == "success":
        return job._replace(successes=job.successes + 1)
    return job._replace(failures=job.failures + 1)


def heavier(reason: str, than: str | None) -> bool:
    """Whether a stop for `reason` replaces one that is under way."""
    return than is None or STOP_REASONS.index(reason) > STOP_REASONS.index(than)


def holds_slots(job: Job) -> bool:
    """Whether the job has an admission: exactly while it is active."""
    return job.phase in ACTIVE or (job.phase == "paused" and job.held_phase in ACTIVE)

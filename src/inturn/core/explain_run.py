"""What a run is doing, and how it ended, in words."""

from __future__ import annotations

from inturn.core.phrases import instant, rough, signal_name
from inturn.core.reasons import Reason
from inturn.core.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job, Run
    from inturn.core.moment import Now

_STOPS = {
    "cancelled": "it is being cancelled",
    "job_timeout": "its whole time is over (--job-timeout), and it is being stopped",
    "run_timeout": "its run took too long (--run-timeout) and is being stopped",
    "requeued": "its worker has to end, and stops it to put it back in line",
}


def active(job: Job, run: Run | None, now: Now) -> Reason:
    """What a job that holds slots is doing."""
    if run is None:
        return Reason(job.phase, f"it is {job.phase}", "", job.id)
    fix = f"inturn logs {job.id}"
    if job.phase == "starting":
        return Reason("starting", f"run {run.number} is being started", "", job.id)
    if job.phase == "running":
        message = f"run {run.number} is running"
        if run.started_at is not None:
            message += f" since {instant(run.started_at)} ({rough(now.wall - run.started_at)})"
        return Reason("running", message, fix, job.id)
    if run.outcome is not None:
        message = f"{_told(run)}; processes that it left are being ended"
        return Reason("stopping", message, "", job.id)
    return Reason("stopping", _STOPS.get(job.stop_reason or "", "it is being stopped"), fix, job.id)


def ended(run: Run) -> Reason:
    """How a run ended, as the reason for what followed."""
    return Reason("run", _told(run), f"inturn logs {run.job_id} --run {run.number}", run.job_id)


def put_off(run: Run | None) -> tuple[Reason, ...]:
    """That a job has been in the hands of an owner that could not start it, if its last run says so."""
    if run is None or run.outcome != "cancelled" or run.failure is None:
        return ()
    return (Reason("not_started", _told(run) + "; it is tried again", "", run.job_id),)


def _told(run: Run) -> str:
    """What became of a run, as a sentence without an end."""
    return f"run {run.number} {fate(run)}"


def fate(run: Run) -> str:
    """How a run ended, to stand after its name: `exited with 1`."""
    detail = f": {printable(run.diagnostic)}" if run.diagnostic else ""
    if run.outcome is None:
        return "has not ended"
    if run.outcome == "lost":
        return "is lost, nobody saw how it ended" + detail
    if run.outcome == "start_failed":
        return "could not be started" + detail
    if run.outcome == "timed_out":
        return "was stopped because its time was over" + detail
    if run.outcome == "cancelled" and run.failure is not None:
        return "was not started, through no fault of the job" + detail
    if run.outcome == "cancelled":
        return "was stopped as was asked for" + detail
    if run.signal is not None:
        return f"was ended by {signal_name(run.signal)}" + detail
    return f"exited with {run.exit_code}" + detail

"""What a job's end means to a shell: the exit code of `run --wait` and `wait --exit-status`."""

from __future__ import annotations

from inturn.store import jobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job, Run
    from inturn.service.context import Context

# As timeout(1) and the shells have them.
TIMED_OUT = 124
CANNOT_EXECUTE = 126
COMMAND_NOT_FOUND = 127
BY_SIGNAL = 128

# It never ran, it is lost, or it did not succeed in a way that the command's own status does not show.
NO_SUCCESS = 6


def status_of(context: Context, job: Job) -> int:
    """The exit code for a completed job, with its last run looked up."""
    assert context.store is not None
    return exit_status(job, jobs.load_run(context.store, job.id, job.runs))


def exit_status(job: Job, last_run: Run | None) -> int:
    """The exit code for a completed job: 0 if and only if it succeeded, else what its last run came to.

    `last_run` is the job's last run of all; one of an earlier round does not count. A command's own exit code
    of 0 stands for no success where the job had none: cancelled, say, or short of its success target.
    """
    if job.outcome == "success":
        return 0
    if last_run is None or last_run.round != job.round:
        return NO_SUCCESS
    if job.outcome == "timed_out":
        return TIMED_OUT
    return _run_status(last_run) or NO_SUCCESS


def _run_status(run: Run) -> int:
    if run.outcome == "timed_out":
        return TIMED_OUT
    if run.outcome == "start_failed":
        return COMMAND_NOT_FOUND if run.failure == "command_not_found" else CANNOT_EXECUTE
    if run.outcome == "lost":
        return NO_SUCCESS
    if run.signal is not None:
        return BY_SIGNAL + run.signal
    return run.exit_code or 0

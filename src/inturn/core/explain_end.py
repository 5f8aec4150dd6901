"""Why a job has ended, with the limits that were reached, and how it would be had again."""

from __future__ import annotations

from inturn.core.duration import format_duration
from inturn.core.phrases import ago
from inturn.core.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.spec import Spec

_ENDINGS = {
    "requested": "as was asked for",
    "job_timeout": "its whole time was over (--job-timeout{job_timeout})",
    "run_timeout": "its last run took longer than a run may (--run-timeout{run_timeout})",
    "not_retryable": "its last run failed in a way that is not retried",
    "failure_limit": "as many runs failed as may fail{failures}",
    "run_limit": "it has had as many runs as it may have{runs}",
    "retry_deadline": "another run would have started too late (--retry-abort-at)",
    "wait_deadline": "it had not started in time (--wait-abort-at)",
    "dependency_unsatisfied": "a job that it depends on did not end as it had to",
    "no_supervisor": "no supervisor took it over",
    "owner_died": "its owner died, and whether its run did its work cannot be proven",
    "rebooted": "the machine was restarted in the middle of its run",
}


def message(job: Job, spec: Spec, now: Now) -> str:
    """How the job has ended, when and why."""
    told = f"it ended as {job.outcome}"
    if job.completed_at is not None:
        told += " " + ago(job.completed_at, now.wall)
    if job.reason is None:
        return told
    ending = _ENDINGS.get(job.reason)
    return f"{told}: {printable(job.reason) if ending is None else ending.format_map(_limits(spec))}"


def _limits(spec: Spec) -> dict[str, str]:
    return {
        "job_timeout": _span(spec.job_timeout),
        "run_timeout": _span(spec.run_timeout),
        "failures": _count(spec.policy.failure_limit),
        "runs": _count(spec.policy.run_limit),
    }


def _span(us: int | None) -> str:
    return "" if us is None else f" {format_duration(us)}"


def _count(limit: int | None) -> str:
    return "" if limit is None else f" ({limit})"


def again(job: Job, awaited: bool) -> str:
    """The command that gives the job another round; empty where that would end at once as it did.

    `awaited`: jobs that waited for it were aborted because of it.
    """
    if job.outcome == "success" or job.reason == "dependency_unsatisfied":
        return ""
    if job.reason == "wait_deadline":
        # The deadline has passed for the job itself; a new one has none.
        return f"inturn rerun {job.id}"
    return f"inturn retry {job.id}" + (" --with-dependents" if awaited else "")

"""Whether a job has ended as its policy says, judged from its runs and from what really happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inturn.core.retry import Policy
from inturn.engines.base import OUT_OF_RESOURCES
from tests.simulation.faults import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inturn.core.job import Job, Run
    from inturn.core.spec import Spec
    from tests.simulation.machine import Machine


def judge(machine: Machine, job: Job) -> None:
    """Raise Violation if the outcome of a job that has ended does not follow from what came before."""
    seen = machine.checker.seen
    runs = [run for key, run in sorted(seen.runs.items()) if key[0] == job.id and run.round == job.round]
    spec = machine.spec(job.id)
    problems = [*_truth(machine, runs), *_counts(job, runs), *_outcome(machine, job, spec, runs)]
    for problem in problems:
        raise Violation(f"job {job.id} ended as {job.outcome} ({job.reason}): {problem}")


def _truth(machine: Machine, runs: list[Run]) -> Iterator[str]:
    """What is recorded of a run is what became of its process."""
    for run in runs:
        target = machine.targets.get(run.token)
        told = (run.exit_code, run.signal)
        if target is None:
            if run.outcome not in ("start_failed", "cancelled", "lost", "timed_out") or told != (None, None):
                yield f"run {run.number} is {run.outcome} {told}, and was never started"
        elif told not in ((None, None), target.status):
            yield f"run {run.number} is recorded with {told}; it ended with {target.status}"
        elif run.outcome in ("success", "failure") and told == (None, None):
            yield f"run {run.number} is {run.outcome}, but its status is not known"


def _counts(job: Job, runs: list[Run]) -> Iterator[str]:
    successes = sum(run.outcome == "success" for run in runs)
    failures = sum(run.outcome in ("failure", "timed_out", "start_failed") for run in runs)
    if (job.successes, job.failures) != (successes, failures):
        yield f"it counts {job.successes} successes and {job.failures} failures of {successes} and {failures}"
    withdrawn = sum(_withdrawn(run) for run in runs)
    if job.attempts != len(runs) - withdrawn:
        yield f"it counts {job.attempts} attempts in {len(runs)} runs, {withdrawn} of them withdrawn"


def _withdrawn(run: Run) -> bool:
    return (run.diagnostic or "").startswith("withdrawn") or run.failure == OUT_OF_RESOURCES


def _outcome(machine: Machine, job: Job, spec: Spec, runs: list[Run]) -> Iterator[str]:
    if (job.id, job.round) in machine.cancelled and job.outcome != "cancelled":
        yield "it was cancelled"
    problem = _reason(machine, job, spec, runs)
    if problem:
        yield problem


def _reason(machine: Machine, job: Job, spec: Spec, runs: list[Run]) -> str | None:
    """What contradicts the outcome, if anything does."""
    last = runs[-1] if runs else None
    if job.outcome == "success":
        return _success(job, spec.policy)
    if job.outcome == "failure":
        return _failure(job, spec.policy, last)
    if job.outcome == "timed_out":
        return _timed_out(job, spec, last)
    if job.outcome == "aborted":
        return _aborted(machine, job, spec)
    if job.outcome == "lost":
        return _lost(job, spec, last)
    if job.outcome == "cancelled":
        return None if (job.id, job.round) in machine.asked_to_cancel else "nobody has cancelled it"
    return "it had begun" if runs or not job.supervised else None


def _success(job: Job, policy: Policy) -> str | None:
    enough = policy.success_target is not None and job.successes >= policy.success_target
    return None if enough else f"{job.successes} successes of {policy.success_target}"


def _failure(job: Job, policy: Policy, last: Run | None) -> str | None:
    if job.reason == "failure_limit":
        return None if job.failures == policy.failure_limit else f"{job.failures} of {policy.failure_limit}"
    if job.reason == "run_limit":
        return (
            None if job.successes + job.failures == policy.run_limit else f"the limit is {policy.run_limit}"
        )
    listed = (
        policy.retry_codes or policy.retry_signals or policy.retry_timeouts or policy.retry_start_failures
    )
    return None if last is not None and listed else "everything is retryable"


def _timed_out(job: Job, spec: Spec, last: Run | None) -> str | None:
    if job.reason == "job_timeout":
        used = job.watch.used
        return None if used >= (spec.job_timeout or used + 1) else f"after {used} of {spec.job_timeout} µs"
    if last is None or last.outcome != "timed_out":
        return "its last run did not time out"
    return None if last.watch.used >= (spec.run_timeout or 1 << 62) else f"the run took {last.watch.used} µs"


def _aborted(machine: Machine, job: Job, spec: Spec) -> str | None:
    if job.reason == "dependency_unsatisfied":
        edges = machine.edges(job.id)
        return None if any(edge.judged and not edge.satisfied for edge in edges) else f"{edges}"
    if job.reason == "wait_deadline":
        late = spec.wait_abort_at is not None and machine.clock.furthest >= spec.wait_abort_at
        return None if late and not job.attempts else "it was not late"
    late = spec.policy.abort_at is not None and job.attempts > 0
    return None if late else "there is no such deadline"


def _lost(job: Job, spec: Spec, last: Run | None) -> str | None:
    if last is None or last.outcome != "lost":
        return "its last run was not lost"
    budget = spec.max_crashes
    spent = budget is not None and (budget == 0 or job.crashes > budget)
    return None if spent else f"{job.crashes} crashes of {budget}"

"""What follows a run: its classification, the limit that ends the job, the delay before another run."""

from __future__ import annotations

from inturn.core.moment import SECOND, Deadline, after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from inturn.core.job import Job, Run
    from inturn.core.moment import Now
else:
    from inturn.core.records import NamedTuple

BACKOFFS = ("constant", "linear", "exponential")

# Doubling beyond this many times would only make big integers: the cap on durations is far below.
_MAX_DOUBLINGS = 60


class Policy(NamedTuple):
    """When a run counts as a success, when another one follows, and how long before it.

    Limits are None for unlimited; times are microseconds; `abort_at` is a wall time. Codes and signals are
    tuples of (low, high) ranges. With nothing listed as retryable, every unsuccessful run is, except a
    cancelled one; else exactly what is listed.
    """

    success_codes: tuple[tuple[int, int], ...] = ((0, 0),)
    retry_codes: tuple[tuple[int, int], ...] = ()
    retry_signals: tuple[tuple[int, int], ...] = ()
    retry_timeouts: bool = False
    retry_start_failures: bool = False
    success_target: int | None = 1
    run_limit: int | None = 1
    failure_limit: int | None = 1
    delay: int = 0
    backoff: str = "constant"
    max_delay: int | None = None
    jitter: int = 0
    abort_at: int | None = None


class Verdict(NamedTuple):
    """What becomes of the job: an `outcome` with its reason, or, without one, another run at `due`.

    `due` is None when the next run has no delay.
    """

    outcome: str | None
    reason: str | None
    due: Deadline | None = None


def judge_end(policy: Policy, exit_code: int | None, signal: int | None, stop_reason: str | None) -> str:
    """The outcome of a run whose target has ended: a stop that was asked for outweighs the exit code."""
    if stop_reason in ("cancelled", "requeued"):
        return "cancelled"
    if stop_reason is not None:
        return "timed_out"
    if signal is None and exit_code is not None and _listed(policy.success_codes, exit_code):
        return "success"
    return "failure"


def retryable(policy: Policy, run: Run) -> bool:
    """Whether another run may follow this unsuccessful one, limits apart."""
    if run.outcome == "cancelled":
        return False
    if not (
        policy.retry_codes or policy.retry_signals or policy.retry_timeouts or policy.retry_start_failures
    ):
        return True
    if run.outcome == "timed_out":
        return policy.retry_timeouts
    if run.outcome == "start_failed":
        return policy.retry_start_failures
    if run.signal is not None:
        return _listed(policy.retry_signals, run.signal)
    return run.exit_code is not None and _listed(policy.retry_codes, run.exit_code)


def after_run(
    policy: Policy, job: Job, run: Run, job_timed_out: bool, now: Now, draw: float, since: int = 0
) -> Verdict:
    """What follows `run`, which has ended and is already counted in `job.successes` or `job.failures`.

    The order is the article's: cancellation, whole-job timeout, success count, retryability, failure count,
    run limit, retry deadline. `draw` is a uniform random number in [0, 1) for the jitter, and `since` is how
    long ago the run ended (µs).
    """
    if job.stop_reason == "cancelled":
        return Verdict("cancelled", "requested")
    if job_timed_out or job.stop_reason == "job_timeout":
        return Verdict("timed_out", "job_timeout")
    success = run.outcome == "success"
    if success and policy.success_target is not None and job.successes >= policy.success_target:
        return Verdict("success", None)
    if not success:
        if not retryable(policy, run):
            return _failure(run, "not_retryable")
        if policy.failure_limit is not None and job.failures >= policy.failure_limit:
            return _failure(run, "failure_limit")
    if policy.run_limit is not None and job.successes + job.failures >= policy.run_limit:
        return _failure(run, "run_limit")
    pause = policy.delay if success else retry_delay(policy, job.failures, draw)
    assert run.finished_at is not None
    # The retry instant is the run's end plus the delay; what has passed since is not waited for again.
    start = run.finished_at + pause
    if policy.abort_at is not None and max(start, now.wall) > policy.abort_at:
        return Verdict("aborted", "retry_deadline")
    if not pause:
        return Verdict(None, None, None)
    return Verdict(None, None, after(now, max(pause - since, 0))._replace(wall=start))


def retry_delay(policy: Policy, failures: int, draw: float) -> int:
    """Microseconds before the run that follows the `failures`-th unsuccessful one of a round.

    constant D, linear k·D, exponential D·2^(k-1); then the cap; then the jitter, uniform within half of it on
    either side, never below zero nor above the cap.
    """
    delay = policy.delay
    # A lost run is not counted among the failures: after it there may be none yet.
    failures = max(failures, 1)
    if policy.backoff == "linear":
        delay *= failures
    elif policy.backoff == "exponential":
        delay <<= min(failures - 1, _MAX_DOUBLINGS)
    cap = policy.max_delay
    if cap is not None:
        delay = min(delay, cap)
    delay += int(policy.jitter * (draw - 0.5))
    if cap is not None:
        delay = min(delay, cap)
    return min(max(delay, 0), _LONGEST_DELAY)


def ever_later(times: int) -> int:
    """Microseconds before what has failed so often in a row is tried again: 1 s, doubled up to a minute."""
    return min(SECOND << min(max(times - 1, 0), 6), 60 * SECOND)


# A hundred years: what a duration may be at most; an exponential delay without a cap stops there.
_LONGEST_DELAY = 100 * 366 * 24 * 3600 * 1_000_000


def _failure(run: Run, limit: str) -> Verdict:
    if run.outcome == "timed_out":
        return Verdict("timed_out", "run_timeout")
    return Verdict("failure", limit)


def _listed(ranges: tuple[tuple[int, int], ...], value: int) -> bool:
    return any(low <= value <= high for low, high in ranges)

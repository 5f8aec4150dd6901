from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.job import Job, Run
from inturn.core.moment import HOUR, SECOND, Now
from inturn.core.retry import (
    BACKOFFS,
    Policy,
    Verdict,
    after_run,
    ever_later,
    judge_end,
    retry_delay,
    retryable,
)
from tests.builders import START, ended, later, make_job, make_run, running

CANCELLED = Verdict("cancelled", "requested")
TIMED_OUT = Verdict("timed_out", "job_timeout")
SUCCESS = Verdict("success", None)
NOT_RETRYABLE = Verdict("failure", "not_retryable")
FAILURE_LIMIT = Verdict("failure", "failure_limit")
RUN_LIMIT = Verdict("failure", "run_limit")
RETRY_DEADLINE = Verdict("aborted", "retry_deadline")

# As `--retries 2` means it.
TWO_RETRIES = Policy(success_target=1, run_limit=3, failure_limit=3)
UNLIMITED = Policy(success_target=None, run_limit=None, failure_limit=None)

DURATIONS = st.integers(0, 10 * 366 * 24 * HOUR)
DRAWS = st.floats(0, 1, exclude_max=True)
POLICIES = st.builds(
    Policy,
    delay=DURATIONS,
    backoff=st.sampled_from(BACKOFFS),
    max_delay=st.none() | DURATIONS,
    jitter=DURATIONS,
)


def run_with(outcome: str = "failure", now: Now = START, **fields: Any) -> Run:
    return ended(running(make_run()), outcome, now, **fields)


def after(policy: Policy, run: Run, job: Job | None = None, **given_: Any) -> Verdict:
    """What follows the first run of a job; it has been counted."""
    success = run.outcome == "success"
    counted = job or make_job("running", successes=int(success), failures=int(not success))
    wanted = {"job_timed_out": False, "now": START, "draw": 0.5, **given_}
    return after_run(policy, counted, run, **wanted)


# What a run was.


@pytest.mark.parametrize(
    ("exit_code", "signal", "stop_reason", "outcome"),
    [
        (0, None, None, "success"),
        (4, None, None, "success"),
        (1, None, None, "failure"),
        (6, None, None, "failure"),
        (None, 9, None, "failure"),
        (0, None, "cancelled", "cancelled"),
        (None, 15, "cancelled", "cancelled"),
        (0, None, "run_timeout", "timed_out"),
        (None, 9, "run_timeout", "timed_out"),
        (1, None, "job_timeout", "timed_out"),
    ],
)
def test_a_stop_that_was_asked_for_outweighs_how_the_target_ended(
    exit_code: int | None, signal: int | None, stop_reason: str | None, outcome: str
) -> None:
    policy = Policy(success_codes=((0, 0), (3, 5)))
    assert judge_end(policy, exit_code, signal, stop_reason) == outcome


def test_zero_is_no_success_when_other_codes_are() -> None:
    assert judge_end(Policy(success_codes=((3, 3),)), 0, None, None) == "failure"


UNSUCCESSFUL = {
    "exit 1": run_with(exit_code=1),
    "exit 7": run_with(exit_code=7),
    "signal 9": run_with(signal=9),
    "timed out": run_with("timed_out", signal=15),
    "timed out, exit 7": run_with("timed_out", exit_code=7),
    "not started": run_with("start_failed"),
    "cancelled": run_with("cancelled", signal=15),
    "cancelled, exit 7": run_with("cancelled", exit_code=7),
}


@pytest.mark.parametrize(
    ("policy", "repeated"),
    [
        (Policy(), "exit 1|exit 7|signal 9|timed out|timed out, exit 7|not started"),
        (Policy(retry_codes=((5, 8),)), "exit 7"),
        (Policy(retry_codes=((1, 1), (5, 8))), "exit 1|exit 7"),
        (Policy(retry_signals=((9, 9),)), "signal 9"),
        (Policy(retry_signals=((15, 15),)), ""),
        (Policy(retry_timeouts=True), "timed out|timed out, exit 7"),
        (Policy(retry_start_failures=True), "not started"),
        (Policy(retry_codes=((7, 7),), retry_start_failures=True), "exit 7|not started"),
    ],
)
def test_every_unsuccessful_run_but_a_cancelled_one_is_retryable_unless_something_is_listed(
    policy: Policy, repeated: str
) -> None:
    assert "|".join(name for name, run in UNSUCCESSFUL.items() if retryable(policy, run)) == repeated


# What ends the job, in this order.


def test_a_cancellation_is_asked_before_the_whole_job_timeout() -> None:
    job = make_job("stopping", stop_reason="cancelled", failures=1)
    assert after(Policy(), run_with("cancelled"), job, job_timed_out=True) == CANCELLED


def test_a_cancellation_outweighs_a_success() -> None:
    job = make_job("stopping", stop_reason="cancelled", successes=1)
    assert after(Policy(), run_with("success"), job) == CANCELLED


def test_the_whole_job_timeout_is_asked_before_the_success_target() -> None:
    run = run_with("success")
    assert after(Policy(), run, job_timed_out=True) == TIMED_OUT
    assert after(Policy(), run) == SUCCESS


def test_a_run_that_was_stopped_by_the_whole_job_timeout_ends_the_job() -> None:
    job = make_job("stopping", stop_reason="job_timeout", failures=1)
    assert after(UNLIMITED, run_with("timed_out"), job) == TIMED_OUT


def test_the_success_target_is_asked_before_the_run_limit_and_the_retry_deadline() -> None:
    policy = Policy(success_target=1, run_limit=1, abort_at=START.wall - 1)
    assert after(policy, run_with("success")) == SUCCESS


def test_retryability_is_asked_before_the_failure_limit() -> None:
    policy = Policy(retry_codes=((7, 7),), failure_limit=1)
    assert after(policy, run_with(exit_code=1)) == NOT_RETRYABLE
    assert after(policy, run_with(exit_code=7)) == FAILURE_LIMIT


def test_the_failure_limit_is_asked_before_the_run_limit() -> None:
    assert after(Policy(failure_limit=1, run_limit=1), run_with()) == FAILURE_LIMIT
    assert after(Policy(failure_limit=2, run_limit=1), run_with()) == RUN_LIMIT


def test_the_run_limit_is_asked_before_the_retry_deadline() -> None:
    late = START.wall - 1
    assert after(Policy(failure_limit=None, run_limit=1, abort_at=late), run_with()) == RUN_LIMIT
    assert after(Policy(failure_limit=None, run_limit=2, abort_at=late), run_with()) == RETRY_DEADLINE


def test_the_run_limit_reached_short_of_the_target_is_a_failure_even_after_a_success() -> None:
    policy = Policy(success_target=2, run_limit=1, failure_limit=None)
    assert after(policy, run_with("success")) == RUN_LIMIT


@pytest.mark.parametrize(
    "policy", [Policy(failure_limit=1), Policy(failure_limit=2, run_limit=1), Policy(retry_codes=((7, 7),))]
)
def test_a_job_whose_last_run_timed_out_has_timed_out(policy: Policy) -> None:
    assert after(policy, run_with("timed_out")) == Verdict("timed_out", "run_timeout")


@pytest.mark.parametrize(("abort_in", "outcome"), [(SECOND - 1, "aborted"), (SECOND, None), (HOUR, None)])
def test_a_job_whose_next_run_would_be_due_after_the_deadline_ends_at_once(
    abort_in: int, outcome: str | None
) -> None:
    policy = TWO_RETRIES._replace(delay=SECOND, abort_at=START.wall + abort_in)
    assert after(policy, run_with()).outcome == outcome


def test_a_run_that_could_only_start_after_the_deadline_by_now_does_not_follow() -> None:
    policy = TWO_RETRIES._replace(abort_at=START.wall + SECOND)
    assert after(policy, run_with(now=START), now=later(2 * SECOND)) == RETRY_DEADLINE


def test_two_retries_are_three_runs() -> None:
    for failures in (1, 2):
        job = make_job("running", failures=failures)
        assert after(TWO_RETRIES, run_with(), job).outcome is None
    assert after(TWO_RETRIES, run_with(), make_job("running", failures=3)) == FAILURE_LIMIT


def test_a_lost_run_consumes_neither_failures_nor_runs() -> None:
    job = make_job("running", runs=5, failures=0)
    policy = Policy(success_target=1, run_limit=1, failure_limit=1)
    assert after(policy, run_with("lost"), job).outcome is None


@given(POLICIES, DRAWS)
def test_the_delay_after_a_lost_run_is_that_after_a_first_failure(policy: Policy, draw: float) -> None:
    assert retry_delay(policy, 0, draw) == retry_delay(policy, 1, draw)


# When the next run is due.


def test_the_retry_instant_is_the_end_of_the_run_plus_the_delay() -> None:
    policy = TWO_RETRIES._replace(delay=10 * SECOND)
    seen = later(3 * SECOND)
    verdict = after(policy, run_with(now=START), now=seen, since=3 * SECOND)
    assert verdict.due is not None
    assert verdict.due.wall == START.wall + 10 * SECOND
    assert verdict.due.remaining(seen) == 7 * SECOND


def test_a_wall_clock_that_is_set_back_does_not_lengthen_the_delay() -> None:
    policy = TWO_RETRIES._replace(delay=10 * SECOND)
    set_back = later(3 * SECOND)._replace(wall=START.wall - HOUR)
    verdict = after(policy, run_with(now=START), now=set_back)
    assert verdict.due is not None
    assert verdict.due.remaining(set_back) <= 10 * SECOND


def test_without_a_delay_the_next_run_has_no_instant() -> None:
    assert after(TWO_RETRIES, run_with()) == Verdict(None, None, None)


def test_a_success_short_of_the_target_is_repeated_after_the_plain_delay() -> None:
    policy = Policy(
        success_target=3, run_limit=None, failure_limit=None, delay=SECOND, backoff="exponential", jitter=HOUR
    )
    job = make_job("running", successes=2, failures=9)
    verdict = after(policy, run_with("success"), job, draw=0.99)
    assert verdict.outcome is None
    assert verdict.due is not None
    assert verdict.due.wall == START.wall + SECOND


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [("constant", [3, 3, 3, 3]), ("linear", [3, 6, 9, 12]), ("exponential", [3, 6, 12, 24])],
)
def test_the_delay_grows_with_the_failures_as_the_backoff_says(backoff: str, delays: list[int]) -> None:
    policy = Policy(delay=3 * SECOND, backoff=backoff)
    assert [retry_delay(policy, number, 0.5) // SECOND for number in range(1, 5)] == delays


def test_the_cap_applies_to_the_delay_and_again_after_the_jitter() -> None:
    policy = Policy(delay=SECOND, backoff="exponential", max_delay=5 * SECOND, jitter=2 * SECOND)
    assert retry_delay(policy, 10, 0.5) == 5 * SECOND
    assert retry_delay(policy, 10, 0.0) == 4 * SECOND
    assert retry_delay(policy, 10, 0.99) == 5 * SECOND


def test_the_jitter_reaches_half_its_width_on_either_side() -> None:
    policy = Policy(delay=10 * SECOND, jitter=4 * SECOND)
    assert retry_delay(policy, 1, 0.0) == 8 * SECOND
    assert 12 * SECOND - retry_delay(policy, 1, 1 - 2**-53) <= 1


@given(POLICIES, st.integers(1, 1000), DRAWS)
def test_a_delay_is_never_negative_nor_above_the_cap_nor_further_than_half_the_jitter(
    policy: Policy, failures: int, draw: float
) -> None:
    delay = retry_delay(policy, failures, draw)
    plain = retry_delay(policy._replace(jitter=0), failures, draw)
    assert delay >= 0
    assert policy.max_delay is None or max(delay, plain) <= policy.max_delay
    assert 2 * abs(delay - plain) <= policy.jitter


@given(POLICIES, st.integers(1, 1_000_000), DRAWS)
def test_a_later_failure_never_waits_for_less(policy: Policy, failures: int, draw: float) -> None:
    assert retry_delay(policy, failures, draw) <= retry_delay(policy, failures + 1, draw)


def test_an_exponential_delay_without_a_cap_stays_an_instant_that_the_store_can_hold() -> None:
    policy = Policy(delay=24 * HOUR, backoff="exponential")
    assert START.wall + retry_delay(policy, 10**9, 0.5) < 2**63


def test_what_fails_again_and_again_is_tried_ever_later_but_within_a_minute() -> None:
    assert [ever_later(times) // SECOND for times in range(10)] == [1, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert ever_later(10**9) == 60 * SECOND

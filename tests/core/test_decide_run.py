from __future__ import annotations

from typing import Any

import pytest

from inturn.core import transitions
from inturn.core.decide import (
    KILL_INTERVAL,
    Ended,
    Sight,
    Step,
    during_run,
    lose,
    withdraw,
)
from inturn.core.job import Job, Run
from inturn.core.moment import HOUR, MINUTE, SECOND, Deadline, Now, Stopwatch
from inturn.core.retry import Policy
from inturn.core.spec import Spec
from inturn.core.transitions import Event
from tests.builders import (
    BOOT,
    START,
    at,
    later,
    make_job,
    make_run,
    make_spec,
    running,
)

DRAW = 0.5
SUCCESS = Ended(0, None, 10, 20, 30)
FAILURE = Ended(1, None)
KILLED = Ended(None, 9)


def during(
    job: Job | None = None,
    spec: Spec | None = None,
    run: Run | None = None,
    sight: Sight | None = None,
    now: Now = START,
) -> Step:
    known = job or make_job("running")
    return during_run(known, spec or make_spec(), run or running(make_run()), sight or Sight(), now, DRAW)


def conclusion(step: Step) -> Event:
    assert (step.kind, step.event is None) == ("commit", False)
    assert step.event is not None
    return step.event


def stopping(reason: str | None = "cancelled", **fields: Any) -> Job:
    return make_job("stopping", stop_reason=reason, **fields)


@pytest.mark.parametrize("phase", ["starting", "running"])
def test_a_run_without_timeouts_sleeps_until_something_happens(phase: str) -> None:
    assert during(make_job(phase)) == Step("sleep")


def test_the_run_timeout_covers_one_run_and_the_job_timeout_all_of_the_job() -> None:
    job = make_job("running", watch=Stopwatch(0, START.wall, START.mono, BOOT))
    run = running(make_run(), later(MINUTE))
    spec = make_spec(run_timeout=3 * MINUTE, job_timeout=5 * MINUTE)
    assert during(job, spec, run, now=later(2 * MINUTE)) == Step("sleep", wait=2 * MINUTE)
    stop = during(job, spec, run, now=later(4 * MINUTE))
    assert stop == Step("commit", Event("stop_requested", "stopping", "run_timeout"))
    short = make_spec(run_timeout=3 * MINUTE, job_timeout=2 * MINUTE)
    assert during(job, short, run, now=later(MINUTE)) == Step("sleep", wait=MINUTE)
    stop = during(job, short, run, now=later(2 * MINUTE))
    assert stop == Step("commit", Event("stop_requested", "stopping", "job_timeout"))


def test_when_both_timeouts_end_at_once_it_is_the_whole_jobs() -> None:
    spec = make_spec(run_timeout=MINUTE, job_timeout=MINUTE)
    stop = during(spec=spec, now=later(MINUTE))
    assert conclusion(stop).reason == "job_timeout"


def test_a_stop_is_term_then_the_grace_period_then_kill_until_nothing_is_left() -> None:
    spec = make_spec(stop_grace=10 * SECOND)
    assert during(stopping(), spec) == Step("terminate")
    told = Sight(term_at=START.mono)
    assert during(stopping(), spec, sight=told) == Step("sleep", wait=10 * SECOND)
    assert during(stopping(), spec, sight=told, now=later(9 * SECOND)) == Step("sleep", wait=SECOND)
    assert during(stopping(), spec, sight=told, now=later(10 * SECOND)) == Step("kill")
    killed = told._replace(kill_at=later(10 * SECOND).mono)
    assert during(stopping(), spec, sight=killed, now=later(10 * SECOND)) == Step("sleep", wait=KILL_INTERVAL)
    assert during(stopping(), spec, sight=killed, now=later(10 * SECOND + KILL_INTERVAL)) == Step("kill")


def test_without_a_grace_period_kill_follows_term_at_once() -> None:
    spec = make_spec(stop_grace=0)
    assert during(stopping(), spec) == Step("terminate")
    assert during(stopping(), spec, sight=Sight(term_at=START.mono)) == Step("kill")


def test_a_cancellation_during_a_stop_neither_starts_the_stop_anew_nor_hurries_it() -> None:
    for reason in ("run_timeout", "cancelled"):
        told = Sight(term_at=START.mono)
        assert during(stopping(reason), sight=told, now=later(4 * SECOND)) == Step("sleep", wait=6 * SECOND)
    ended = Sight(ended=KILLED, term_at=START.mono)
    assert conclusion(during(stopping("cancelled"), sight=ended)).outcome == "cancelled"


def test_timeouts_are_not_asked_for_again_while_the_run_is_being_stopped() -> None:
    spec = make_spec(run_timeout=1, job_timeout=1)
    assert during(stopping("run_timeout"), spec, sight=Sight(term_at=START.mono), now=later(SECOND)) == Step(
        "sleep", wait=9 * SECOND
    )


# The end of a run.


def test_the_end_of_the_leader_is_recorded_with_what_it_used() -> None:
    now = later(5 * SECOND)
    event = conclusion(during(sight=Sight(SUCCESS), now=now))
    assert (event.kind, event.to, event.outcome, event.reason) == ("ended", "completed", "success", None)
    run = event.run
    assert run is not None
    assert (run.outcome, run.exit_code, run.signal, run.finished_at) == ("success", 0, None, now.wall)
    assert (run.user_us, run.system_us, run.max_rss) == (10, 20, 30)
    assert run.watch == Stopwatch(5 * SECOND)


@pytest.mark.parametrize(
    ("reason", "sight", "outcome", "why"),
    [
        ("cancelled", SUCCESS, "cancelled", "requested"),
        ("job_timeout", KILLED, "timed_out", "job_timeout"),
        ("run_timeout", KILLED, "timed_out", "run_timeout"),
        ("run_timeout", SUCCESS, "timed_out", "run_timeout"),
    ],
)
def test_a_stopped_run_ends_the_job_as_what_it_was_stopped_for(
    reason: str, sight: Ended, outcome: str, why: str
) -> None:
    event = conclusion(during(stopping(reason), sight=Sight(sight, term_at=START.mono)))
    assert (event.kind, event.outcome, event.reason) == ("ended", outcome, why)


def test_a_run_timeout_that_is_retryable_sends_the_job_back_in_line() -> None:
    spec = make_spec(Policy(run_limit=2, failure_limit=2))
    event = conclusion(during(stopping("run_timeout"), spec, sight=Sight(KILLED, term_at=START.mono)))
    assert (event.kind, event.to, event.reason) == ("repeated", "queued", "timed_out")
    assert event.due == at(START)


def test_what_is_left_of_a_run_is_ended_after_its_result_and_before_the_slots_are_freed() -> None:
    left = Sight(SUCCESS, leftovers=True)
    found = conclusion(during(sight=left))
    assert (found.kind, found.to, found.outcome) == ("leftovers_found", "stopping", None)
    run = found.run
    assert run is not None
    assert run.outcome == "success"
    job = transitions.apply(make_job("running"), found, START).after
    assert (job.phase, job.stop_reason, job.successes) == ("stopping", None, 1)
    assert during(job, run=run, sight=left) == Step("terminate")
    assert during(job, run=run, sight=left._replace(term_at=START.mono), now=later(10 * SECOND)) == Step(
        "kill"
    )
    gone = Sight(SUCCESS, leftovers=False, term_at=START.mono)
    event = conclusion(during(job, run=run, sight=gone, now=later(SECOND)))
    assert (event.outcome, event.run) == ("success", None)
    # Recorded once, counted once.
    assert transitions.apply(job, event, later(SECOND)).after.successes == 1


def test_leftovers_of_a_stopped_run_share_its_grace_period() -> None:
    left = Sight(KILLED, leftovers=True, term_at=START.mono)
    assert conclusion(during(stopping("run_timeout"), sight=left)).kind == "leftovers_found"
    run = running(make_run())._replace(outcome="timed_out", finished_at=START.wall)
    assert during(stopping("run_timeout"), run=run, sight=left, now=later(4 * SECOND)) == Step(
        "sleep", wait=6 * SECOND
    )


@pytest.mark.parametrize("jump", [0, -HOUR, HOUR])
def test_while_leftovers_are_ended_a_clock_that_is_set_changes_no_delay_and_no_time_limit(jump: int) -> None:
    policy = Policy(run_limit=3, failure_limit=3, delay=10 * SECOND)
    job = stopping(None, runs=1, failures=1, watch=Stopwatch(0, START.wall, START.mono, BOOT))
    run = running(make_run())._replace(outcome="failure", exit_code=1, finished_at=START.wall)
    gone = Sight(FAILURE, ended_at=START.mono, term_at=START.mono)
    now = later(4 * SECOND)._replace(wall=START.wall + 4 * SECOND + jump)
    event = conclusion(during(job, make_spec(policy=policy), run, gone, now))
    assert event.due is not None
    assert event.due.remaining(now) == 6 * SECOND
    # It was over in time: only what is left of it has taken longer.
    for limit, kind in ((SECOND, "repeated"), (0, "ended")):
        found = conclusion(during(job, make_spec(policy=policy, job_timeout=limit), run, gone, now))
        assert found.kind == kind


def test_leftovers_are_left_alone_if_the_user_asked_for_that() -> None:
    event = conclusion(during(spec=make_spec(leave_children=True), sight=Sight(SUCCESS, leftovers=True)))
    assert (event.kind, event.outcome) == ("ended", "success")


def test_a_success_in_time_stays_one_however_long_its_leftovers_take() -> None:
    spec = make_spec(job_timeout=MINUTE)
    run = running(make_run())._replace(outcome="success", finished_at=later(50 * SECOND).wall)
    job = stopping(None, successes=1)
    event = conclusion(during(job, spec, run, Sight(SUCCESS), now=later(70 * SECOND)))
    assert event.outcome == "success"


def test_a_success_after_the_whole_job_timeout_comes_too_late() -> None:
    event = conclusion(during(spec=make_spec(job_timeout=MINUTE), sight=Sight(SUCCESS), now=later(MINUTE)))
    assert (event.outcome, event.reason) == ("timed_out", "job_timeout")


def test_the_delay_before_a_retry_counts_from_the_end_of_the_run_not_of_its_leftovers() -> None:
    spec = make_spec(Policy(run_limit=2, failure_limit=2, delay=10 * SECOND))
    run = running(make_run())._replace(outcome="failure", exit_code=1, finished_at=START.wall)
    event = conclusion(during(stopping(None, failures=1), spec, run, Sight(FAILURE), now=later(4 * SECOND)))
    assert event.kind == "repeated"
    assert event.due is not None
    assert event.due.wall == START.wall + 10 * SECOND
    assert event.due.remaining(later(4 * SECOND)) == 6 * SECOND


def test_a_retry_without_a_delay_is_due_at_once_with_the_end_of_the_run_as_its_place() -> None:
    spec = make_spec(Policy(run_limit=2, failure_limit=2))
    event = conclusion(during(spec=spec, sight=Sight(FAILURE)))
    assert (event.kind, event.reason, event.due) == ("repeated", "failure", at(START))
    job = transitions.apply(make_job("running"), event, START).after
    assert (job.status, job.failures) == ("queued", 1)


def test_a_run_that_its_worker_stopped_goes_back_to_its_place_uncharged() -> None:
    job = stopping("requeued", queue="gpu", owner=4, due=Deadline(START.wall - HOUR))
    event = conclusion(during(job, sight=Sight(KILLED, term_at=START.mono)))
    assert (event.kind, event.reason) == ("repeated", "requeued")
    back = transitions.apply(job, event, START).after
    assert (back.due, back.in_line, back.owner) == (job.due, 1, None)
    assert (back.successes, back.failures) == (0, 0)


def test_a_run_that_had_ended_before_its_worker_had_to_stop_is_not_repeated_for_that() -> None:
    run = running(make_run())._replace(outcome="success", finished_at=START.wall)
    job = stopping("requeued", queue="gpu", owner=4, successes=1)
    event = conclusion(during(job, run=run, sight=Sight(SUCCESS, term_at=START.mono)))
    assert (event.kind, event.outcome) == ("ended", "success")


REPEATABLE = Policy(run_limit=2, failure_limit=2)


@pytest.mark.parametrize(
    ("ended", "policy", "kind", "outcome", "reason"),
    [
        (SUCCESS, None, "ended", "success", None),
        (FAILURE, None, "ended", "failure", "failure_limit"),
        (KILLED, None, "ended", "failure", "failure_limit"),
        (FAILURE, REPEATABLE, "repeated", None, "failure"),
        (SUCCESS, Policy(success_target=2, run_limit=None), "repeated", None, "success"),
        (Ended(None, None), None, "lost", "lost", "owner_died"),
    ],
)
def test_a_run_that_ended_before_its_worker_told_it_to_stop_ends_as_if_its_worker_need_not_stop(
    ended: Ended, policy: Policy | None, kind: str, outcome: str | None, reason: str | None
) -> None:
    spec = make_spec(policy, max_crashes=0)
    job = stopping("requeued", queue="gpu", owner=4)
    event = conclusion(during(job, spec, sight=Sight(ended)))
    assert (event.kind, event.outcome, event.reason) == (kind, outcome, reason)
    assert event == conclusion(during(make_job("running", queue="gpu", owner=4), spec, sight=Sight(ended)))


@pytest.mark.parametrize(
    "told",
    [
        {"term_at": START.mono},
        {"term_at": START.mono, "kill_at": START.mono},
        {"kill_at": START.mono},
        {"told_before": True},
    ],
    ids=lambda told: "+".join(told),
)
@pytest.mark.parametrize("ended", [SUCCESS, FAILURE, KILLED, Ended(None, None)])
def test_a_run_that_may_have_been_told_to_stop_for_its_workers_sake_is_repeated_however_it_ended(
    ended: Ended, told: dict[str, Any]
) -> None:
    event = conclusion(during(stopping("requeued", queue="gpu", owner=4), sight=Sight(ended, **told)))
    assert (event.kind, event.to, event.reason) == ("repeated", "queued", "requeued")
    assert event.run is not None
    assert event.run.outcome == "cancelled"


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("cancelled", "cancelled"), ("job_timeout", "timed_out"), ("run_timeout", "timed_out")],
)
@pytest.mark.parametrize("ended", [SUCCESS, FAILURE])
def test_any_other_stop_tells_what_became_of_a_run_whether_or_not_it_was_told(
    ended: Ended, reason: str, outcome: str
) -> None:
    assert conclusion(during(stopping(reason), sight=Sight(ended))).outcome == outcome


def test_what_a_run_left_that_ended_before_its_worker_told_it_to_stop_is_ended_and_its_result_kept() -> None:
    job = stopping("requeued", queue="gpu", owner=4)
    left = Sight(SUCCESS, leftovers=True)
    found = conclusion(during(job, sight=left))
    assert (found.kind, found.run and found.run.outcome) == ("leftovers_found", "success")
    job = transitions.apply(job, found, START).after
    assert during(job, run=found.run, sight=left) == Step("terminate")
    gone = Sight(SUCCESS, term_at=START.mono)
    event = conclusion(during(job, run=found.run, sight=gone, now=later(SECOND)))
    assert (event.kind, event.outcome, event.run) == ("ended", "success", None)


def test_a_run_that_was_to_be_put_back_and_is_gone_with_its_owner_is_put_back() -> None:
    job = stopping("requeued", queue="gpu", owner=4)
    event = lose(job, make_spec(max_crashes=0), running(make_run()), False, START, DRAW)
    assert (event.kind, event.to, event.reason) == ("repeated", "queued", "requeued")


# A target that is paused.


def test_a_paused_target_is_halted_and_one_that_goes_on_is_continued() -> None:
    paused = make_job("paused", held_phase="running")
    assert during(paused) == Step("halt")
    assert during(paused, sight=Sight(halted=True)) == Step("sleep")
    assert during(make_job("running"), sight=Sight(halted=True)) == Step("continue")


def test_a_paused_target_is_halted_again_when_it_is_time_to_see_whether_all_of_it_stands_still() -> None:
    paused = make_job("paused", held_phase="running")
    sight = Sight(halted=True, halt_at=START.mono + SECOND)
    assert during(paused, sight=sight) == Step("sleep", wait=SECOND)
    assert during(paused, sight=sight, now=later(SECOND)) == Step("halt")


def test_no_timeout_ends_a_paused_target() -> None:
    spec = make_spec(run_timeout=1, job_timeout=1)
    paused = make_job("paused", held_phase="running")
    assert during(paused, spec, sight=Sight(halted=True), now=later(HOUR)) == Step("sleep")


def test_a_target_that_ends_while_it_is_paused_ends_its_job() -> None:
    event = conclusion(during(make_job("paused", held_phase="running"), sight=Sight(SUCCESS, halted=True)))
    assert (event.kind, event.outcome) == ("ended", "success")


# A result that nobody saw.

UNSEEN = Ended(None, None)
UNLIMITED_CRASHES = None


@pytest.mark.parametrize(
    ("budget", "crashes", "lost"),
    [(0, 0, True), (1, 0, False), (1, 1, True), (3, 2, False), (3, 3, True), (UNLIMITED_CRASHES, 99, False)],
)
def test_a_lost_run_is_repeated_as_long_as_the_crash_budget_lasts(
    budget: int | None, crashes: int, lost: bool
) -> None:
    job = make_job("running", crashes=crashes)
    event = conclusion(during(job, make_spec(max_crashes=budget), sight=Sight(UNSEEN)))
    assert (event.kind, event.to, event.outcome) == (
        "lost",
        *(("completed", "lost") if lost else ("queued", None)),
    )
    assert event.run is not None
    assert (event.run.outcome, event.run.finished_at) == ("lost", START.wall)


@pytest.mark.parametrize(("budget", "target"), [(0, "completed"), (1, "queued")])
def test_a_reboot_is_not_charged_but_without_a_budget_nothing_is_run_again_unasked(
    budget: int, target: str
) -> None:
    job = make_job("running", crashes=1)
    event = lose(job, make_spec(max_crashes=budget), running(make_run()), True, START, DRAW)
    assert (event.kind, event.to, event.reason) == ("lost", target, transitions.REBOOTED)


def test_a_job_that_kills_its_worker_comes_back_ever_later_but_within_a_minute() -> None:
    waits = []
    for crashes in range(9):
        event = conclusion(
            during(make_job("running", crashes=crashes), make_spec(max_crashes=99), sight=Sight(UNSEEN))
        )
        assert event.due is not None
        waits.append(event.due.remaining(START) // SECOND)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_run_that_was_being_stopped_ends_as_what_it_was_stopped_for_though_nobody_saw_its_end() -> None:
    event = conclusion(during(stopping("cancelled"), make_spec(max_crashes=9), sight=Sight(UNSEEN)))
    assert (event.kind, event.outcome, event.reason) == ("ended", "cancelled", "requested")


def test_a_result_that_was_recorded_is_not_lost_with_its_owner() -> None:
    run = running(make_run())._replace(outcome="success", exit_code=0, finished_at=START.wall)
    event = lose(stopping(None, successes=1), make_spec(), run, False, later(SECOND), DRAW)
    assert (event.kind, event.outcome, event.run) == ("ended", "success", None)


def test_what_is_left_of_a_run_whose_result_nobody_saw_is_ended_before_it_is_lost() -> None:
    left = Sight(UNSEEN, leftovers=True)
    found = conclusion(during(sight=left))
    assert (found.kind, found.to, found.run) == ("leftovers_found", "stopping", None)
    job = transitions.apply(make_job("running"), found, START).after
    assert (job.successes, job.failures) == (0, 0)
    assert during(job, sight=left) == Step("terminate")
    gone = Sight(UNSEEN, term_at=START.mono)
    event = conclusion(during(job, make_spec(max_crashes=1), sight=gone, now=later(SECOND)))
    assert (event.kind, event.to, event.reason) == ("lost", "queued", "owner_died")


@pytest.mark.parametrize(
    ("reason", "target", "outcome"),
    [
        (None, "queued", None),
        ("requeued", "queued", None),
        ("run_timeout", "queued", None),
        ("cancelled", "completed", "cancelled"),
        ("job_timeout", "completed", "timed_out"),
    ],
)
def test_a_run_that_was_never_started_is_withdrawn_unless_the_job_was_to_end(
    reason: str | None, target: str, outcome: str | None
) -> None:
    job = make_job("stopping" if reason else "starting", stop_reason=reason)
    event = withdraw(job, make_run(job), START)
    assert (event.kind, event.to, event.outcome, event.due) == ("withdrawn", target, outcome, None)
    assert event.run is not None
    assert event.run.outcome == "cancelled"


@pytest.mark.parametrize("queue", ["", "gpu"])
def test_a_run_for_which_something_was_lacking_leaves_no_trace_but_a_pause_before_its_old_place(
    queue: str,
) -> None:
    waiting = make_job("queued", queue=queue, due=Deadline(START.wall - HOUR), attempts=2, runs=2, failures=2)
    run = make_run(waiting, number=3, attempt=3)
    admitted = transitions.Event("admitted", "starting", run=run, owner=waiting.owner or 4)
    job = transitions.apply(waiting, admitted, START).after
    event = withdraw(job, run, START, "there were no processes", "out_of_resources", 4 * SECOND)
    back = transitions.apply(job, event, START).after
    assert (back.phase, back.attempts, back.successes, back.failures, back.crashes) == ("queued", 2, 0, 2, 0)
    assert (back.due.wall, back.due.remaining(START), back.in_line) == (waiting.due.wall, 4 * SECOND, 0)
    assert back.due.reached(later(4 * SECOND))
    assert event.run is not None
    assert (event.run.outcome, event.run.failure) == ("cancelled", "out_of_resources")
    assert event.run.diagnostic == "there were no processes"


@pytest.mark.parametrize(
    ("reason", "target", "outcome"),
    [
        ("requeued", "queued", None),
        ("cancelled", "completed", "cancelled"),
        ("job_timeout", "completed", "timed_out"),
    ],
)
def test_a_stop_that_was_asked_for_outweighs_that_something_was_lacking(
    reason: str, target: str, outcome: str | None
) -> None:
    job = stopping(reason)
    event = withdraw(job, make_run(job), START, "there were no processes", "out_of_resources", SECOND)
    assert (event.to, event.outcome, event.due) == (target, outcome, None)

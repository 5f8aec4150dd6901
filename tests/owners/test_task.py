"""One job in the hands of its owner, with a real store and real targets; time is put forward by the test."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from inturn.core.job import Condition
from inturn.core.moment import HOUR, MILLISECOND, MINUTE, SECOND
from inturn.core.retry import Policy
from inturn.host import clock
from inturn.store import due, jobs, owners
from tests.builders import add_job, add_owner, admit, make_submission
from tests.e2e.harness import until
from tests.owners.life import Life
from tests.tapped import tapped

Begin = Callable[..., Life]

# Targets that say that they are there, and what they do when they are told to end.
OBEYS = "trap 'echo term >> heard; exit 0' TERM; echo > ready; while :; do sleep 0.01; done"
IGNORES = "trap 'echo term >> heard' TERM; echo > ready; while :; do sleep 0.01; done"

# What dies within so long after a start may leave a target whose identity nobody knows.
A_MOMENT = 100 * MILLISECOND

THREE_RUNS = Policy(run_limit=3, failure_limit=3, delay=MINUTE)


def in_line(begin: Begin, **spec: Any) -> Life:
    """A job that waits for the only slot of a pool, which another job has."""
    life = begin(submission={"pool": "one"}, **spec)
    with life.other.writing():
        life.other.execute("INSERT INTO pools (name, slots, declared) VALUES ('one', 1, 0)")
        owner = add_owner(life.other, "holder", now=life.clock())
        holder = add_job(life.other, make_submission(pool="one"), owner, now=life.clock())
        admit(life.other, holder, now=life.clock())
    life.owner.turn()
    assert (life.job.phase, life.slots) == ("queued", 0)
    return life


def waiting(begin: Begin, **spec: Any) -> Life:
    """A job that waits for a file which never comes."""
    life = begin(conditions=(Condition(0, 0, "file", b"/no/such/file"),), **spec)
    life.owner.turn()
    assert life.job.phase == "waiting"
    return life


# --- runs and pauses


def test_what_others_have_brought_into_the_line_stays_there_when_the_wall_clock_is_set_back(
    begin: Begin,
) -> None:
    life = begin(submission={"at": clock.now().wall + HOUR})
    life.owner.turn()
    with life.other.writing():
        due.promote(life.other, life.clock()._replace(wall=life.clock().wall + HOUR))
    assert life.live().outcome == "success"


def test_a_job_that_succeeds_has_one_run_and_its_owner_leaves_the_registry(begin: Begin) -> None:
    life = begin()
    assert life.live().outcome == "success"
    assert life.events == ["submitted", "accepted", "admitted", "started", "ended"]
    assert life.wrote("ran") == ["ran"]
    assert life.slots == 0
    assert owners.live(life.other) == []


def test_no_slot_is_held_between_a_failed_run_and_the_next(begin: Begin) -> None:
    life = begin("echo ran >> ran; exit 7", THREE_RUNS)
    for number in (1, 2):
        life.turn_until(lambda: life.job.status == "backoff", "backoff")
        run = life.runs[-1]
        assert (run.number, run.outcome, run.exit_code) == (number, "failure", 7)
        assert run.finished_at is not None
        assert life.job.due.wall == run.finished_at + MINUTE
        assert life.slots == 0
        assert life.job.due.remaining(life.clock()) > 0
        life.clock.ahead += MINUTE - SECOND
        life.owner.turn()
        assert (life.job.status, life.slots) == ("backoff", 0)
        life.clock.ahead += SECOND
        life.reach_attempt(number + 1)
    job = life.live()
    assert (job.outcome, job.reason, job.attempts, job.failures) == ("failure", "failure_limit", 3, 3)
    assert life.wrote("ran") == ["ran"] * 3
    assert [run.attempt for run in life.runs] == [1, 2, 3]


def test_the_slot_of_a_job_in_backoff_can_be_had_by_another(begin: Begin) -> None:
    life = begin("exit 7", THREE_RUNS, submission={"pool": "one"})
    with life.other.writing():
        life.other.execute("INSERT INTO pools (name, slots, declared) VALUES ('one', 1, 0)")
    life.turn_until(lambda: life.job.status == "backoff", "backoff")
    with life.other.writing():
        owner = add_owner(life.other, "rival", now=life.clock())
        rival = admit(life.other, add_job(life.other, make_submission(pool="one"), owner), now=life.clock())
    life.clock.ahead += MINUTE
    life.owner.turn()
    assert (life.job.phase, life.job.attempts) == ("queued", 1)
    assert life.other.row("SELECT job_id FROM admissions") == (rival.id,)


# --- timeouts


def test_a_run_that_takes_too_long_is_told_to_end(begin: Begin) -> None:
    life = begin(OBEYS, run_timeout=MINUTE).run_ready()
    life.clock.ahead += MINUTE
    job = life.live()
    assert (job.outcome, job.reason) == ("timed_out", "run_timeout")
    (run,) = life.runs
    assert (run.outcome, run.exit_code, run.signal) == ("timed_out", 0, None)
    assert life.wrote("heard") == ["term"]
    assert life.events[-2:] == ["stop_requested", "ended"]


def test_a_run_that_does_not_listen_is_killed_when_the_grace_period_is_over(begin: Begin) -> None:
    life = begin(IGNORES, run_timeout=MINUTE, stop_grace=MINUTE).run_ready()
    life.clock.ahead += MINUTE
    life.turn_until(lambda: life.wrote("heard"), "TERM")
    life.clock.ahead += MINUTE - 10 * SECOND
    life.owner.turn()
    assert (life.job.phase, life.slots) == ("stopping", 1)
    life.clock.ahead += 10 * SECOND
    job = life.live()
    assert (job.outcome, job.reason) == ("timed_out", "run_timeout")
    assert (life.runs[0].outcome, life.runs[0].signal) == ("timed_out", signal.SIGKILL)
    assert life.wrote("heard") == ["term"]


def test_the_run_timeout_is_that_of_each_run_anew(begin: Begin) -> None:
    life = begin(OBEYS, Policy(run_limit=2, failure_limit=2), run_timeout=MINUTE).run_ready()
    (life.root / "ready").unlink()
    life.clock.ahead += MINUTE
    life.reach_attempt(2).run_ready()
    life.clock.ahead += MINUTE - 10 * SECOND
    life.owner.turn()
    assert life.job.phase == "running"
    life.clock.ahead += 10 * SECOND
    assert life.live().outcome == "timed_out"
    assert [run.outcome for run in life.runs] == ["timed_out", "timed_out"]


@pytest.mark.parametrize("begun", [waiting, in_line])
def test_the_whole_job_timeout_ends_a_job_that_has_not_run(begin: Begin, begun: Callable[..., Life]) -> None:
    life = begun(begin, job_timeout=MINUTE)
    life.clock.ahead += MINUTE
    job = life.live()
    assert (job.outcome, job.reason, job.runs) == ("timed_out", "job_timeout", 0)


def test_the_whole_job_timeout_stops_a_run(begin: Begin) -> None:
    life = begin(OBEYS, THREE_RUNS, job_timeout=MINUTE).run_ready()
    life.clock.ahead += MINUTE
    job = life.live()
    assert (job.outcome, job.reason, job.runs) == ("timed_out", "job_timeout", 1)
    assert life.runs[0].outcome == "timed_out"


def test_the_whole_job_timeout_runs_on_in_pauses(begin: Begin) -> None:
    life = begin("exit 7", THREE_RUNS, job_timeout=MINUTE)
    life.turn_until(lambda: life.job.status == "backoff", "backoff")
    life.clock.ahead += MINUTE
    job = life.live()
    assert (job.outcome, job.reason, job.runs) == ("timed_out", "job_timeout", 1)


# --- cancellation


@pytest.mark.parametrize("begun", [waiting, in_line])
def test_a_job_that_has_not_run_is_cancelled_at_once(begin: Begin, begun: Callable[..., Life]) -> None:
    life = begun(begin)
    life.cancel()
    assert (life.job.phase, life.job.outcome) == ("completed", "cancelled")
    assert life.live().runs == 0


def test_a_job_in_backoff_is_cancelled_at_once(begin: Begin) -> None:
    life = begin("exit 7", THREE_RUNS)
    life.turn_until(lambda: life.job.status == "backoff", "backoff")
    life.cancel()
    assert life.job.outcome == "cancelled"
    assert life.live().runs == 1


def test_a_job_that_runs_is_stopped_and_then_cancelled(begin: Begin) -> None:
    life = begin(OBEYS, THREE_RUNS).run_ready()
    life.cancel()
    assert (life.job.phase, life.slots) == ("stopping", 1)
    job = life.live()
    assert (job.outcome, job.reason, job.failures) == ("cancelled", "requested", 0)
    assert life.runs[0].outcome == "cancelled"
    assert life.wrote("heard") == ["term"]
    assert life.slots == 0


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_job_is_cancelled_while_its_target_is_being_started(begin: Begin, moment: str) -> None:
    life = begin(OBEYS, THREE_RUNS)
    setattr(life.engine, moment, life.cancel)
    assert life.live().outcome == "cancelled"
    assert life.events[2:] == ["admitted", "stop_requested", "ended"]
    (run,) = life.runs
    assert run.outcome == "cancelled"
    assert run.native_id


def test_a_job_is_cancelled_while_its_target_turns_out_not_to_start(begin: Begin) -> None:
    life = begin(policy=THREE_RUNS, argv=(b"/no/such/program",))
    life.engine.before = life.cancel
    job = life.live()
    assert (job.outcome, job.reason) == ("cancelled", "requested")
    assert [run.outcome for run in life.runs] == ["start_failed"]
    assert life.slots == 0


def test_a_cancellation_outweighs_the_timeout_that_is_stopping_the_run(begin: Begin) -> None:
    life = begin(IGNORES, THREE_RUNS, run_timeout=MINUTE, stop_grace=MINUTE).run_ready()
    life.clock.ahead += MINUTE
    life.turn_until(lambda: life.wrote("heard"), "TERM")
    life.cancel()
    life.cancel()
    life.owner.turn()
    life.clock.ahead += MINUTE
    job = life.live()
    assert (job.outcome, job.runs) == ("cancelled", 1)
    assert life.wrote("heard") == ["term"]


def test_a_run_that_ends_before_it_hears_of_its_cancellation_does_not_succeed(begin: Begin) -> None:
    life = begin("echo > ready; until [ -e go ]; do sleep 0.01; done").run_ready()
    life.cancel()
    (life.root / "go").touch()
    assert life.live().outcome == "cancelled"


# --- an owner that is no longer the owner


def test_an_owner_that_has_lost_its_job_lets_go_of_it_and_leaves_the_target_alone(begin: Begin) -> None:
    life = begin("echo $$ > ready; until [ -e go ]; do sleep 0.01; done; echo > ended").run_ready()
    with life.other.writing():
        heir = add_owner(life.other, "heir", now=life.clock())
        assert owners.hand_over(life.other, life.job, heir)
    life.live()
    assert (life.job.phase, life.job.owner, life.slots) == ("running", heir, 1)
    (pid,) = life.wrote("ready")
    os.kill(int(pid), 0)
    (life.root / "go").touch()
    os.waitpid(int(pid), 0)
    assert life.wrote("ended") == [""]


def test_the_commits_of_a_former_owner_are_refused(begin: Begin) -> None:
    life = begin("echo > ready; until [ -e go ]; do sleep 0.01; done").run_ready()
    with life.other.writing():
        heir = add_owner(life.other, "heir", now=life.clock())
        assert owners.hand_over(life.other, life.job, heir)
    before = life.job
    # It has not looked at the store again, and believes that the job is its own.
    life.task.stop("cancelled")
    assert life.job == before
    assert not [task for task in life.owner.tasks if not task.done]
    (life.root / "go").touch()
    life.live()
    assert jobs.load(life.other, life.id) == before


def test_the_start_and_the_end_of_a_run_that_is_over_at_once_are_one_commit(begin: Begin) -> None:
    life = begin("exit 0")
    life.engine.after = lambda: _await_child()
    writing: list[str] = []

    def ask(sql: str) -> None:
        if sql == "BEGIN IMMEDIATE":
            writing.append(sql)

    life.reach("queued")
    with tapped(life.store, ask):
        life.live()
    assert life.events[-3:] == ["admitted", "started", "ended"]
    assert len(writing) == 2
    (run,) = life.runs
    assert run.native_id
    assert run.exit_code == 0


def test_a_run_goes_unbound_for_no_longer_than_a_moment(begin: Begin) -> None:
    life = begin("exec sleep 600")
    started: list[bool] = []
    life.engine.after = lambda: started.append(True)
    life.turn_until(lambda: started, "the start of the target")
    life.clock.ahead += A_MOMENT
    life.owner.turn()
    (run,) = life.runs
    assert (life.job.phase, run.outcome) == ("running", None)
    assert run.native_id
    life.cancel()


def test_a_stop_that_was_asked_for_before_the_run_was_bound_finds_its_process_in_the_store(
    begin: Begin,
) -> None:
    life = begin("trap '' TERM; echo ready >> ready; sleep 600")

    def cancel_what_is_deaf() -> None:
        until(lambda: life.wrote("ready"), "the target is deaf")
        life.cancel()

    life.engine.after = cancel_what_is_deaf
    life.turn_until(lambda: life.runs and life.runs[0].native_id, "the identity of the target")
    assert life.job.stop_reason == "cancelled"


def _await_child() -> None:
    assert os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT) is not None

"""A run ends with its leader, even if a grandchild keeps its output open."""

from __future__ import annotations

import signal

import pytest

from tests.e2e.harness import DEADLINE, Cli, until
from tests.e2e.traces import Mark

# Longer than any test waits: whatever is seen is seen before the sleeper would have ended.
NAP = "sleep 318"

# A grandchild that cannot be ended politely; the leader ends when it is ready.
STUBBORN = (
    f"sh -c 'trap \"\" TERM; touch ready; exec {NAP}' & until [ -e ready ]; do sleep 0.02; done; echo done"
)


def used_slots(cli: Cli) -> int:
    used: int = cli.run("pools", "--json").check().data["store"]["used"]
    return used


def test_waiting_for_the_job_ends_long_before_the_sleeper_would(cli: Cli, verb: str, mark: Mark) -> None:
    job = cli.run(verb, "--wait", "-c", f"{NAP} & echo done", env=mark.environment).id
    assert mark.alive() == {}
    assert used_slots(cli) == 0
    assert cli.run("logs", job).check().text == "done\n"
    shown = cli.show(job)
    assert (shown["outcome"], shown["runs"][0]["exit_code"]) == ("success", 0)


def test_following_ends_long_before_the_sleeper_would(cli: Cli, verb: str, mark: Mark) -> None:
    job = cli.run(verb, "-c", f"{NAP} & echo done", env=mark.environment).id
    assert cli.run("logs", "-f", job).check().text == "done\n"


def test_the_result_is_recorded_at_once_and_the_slot_is_held_until_the_sleeper_is_gone(
    cli: Cli, verb: str, mark: Mark
) -> None:
    job = cli.run(verb, "--stop-grace", "1h", "-c", STUBBORN, env=mark.environment).id
    shown = cli.wait_phase(job, "stopping")
    assert (shown["outcome"], shown["runs"][0]["outcome"], shown["runs"][0]["exit_code"]) == (
        None,
        "success",
        0,
    )
    assert cli.run("logs", job).check().text == "done\n"
    assert used_slots(cli) == 1
    mark.kill(signal.SIGKILL)
    cli.run("wait", job).check()
    assert cli.show(job)["outcome"] == "success"
    assert used_slots(cli) == 0


def test_a_sleeper_that_ignores_the_polite_signal_is_killed_after_the_grace_period(
    cli: Cli, verb: str, mark: Mark
) -> None:
    job = cli.run(verb, "--wait", "--stop-grace", "0.3s", "-c", STUBBORN, env=mark.environment).id
    assert mark.alive() == {}
    assert used_slots(cli) == 0
    assert cli.show(job)["outcome"] == "success"


def test_a_failing_leader_is_a_failure_whatever_it_leaves_behind(cli: Cli, verb: str, mark: Mark) -> None:
    told = cli.run(verb, "--wait", "-c", f"{NAP} & exit 7", env=mark.environment).check(7)
    assert mark.alive() == {}
    assert cli.show(int(told.out))["runs"][0]["exit_code"] == 7


def test_what_stays_behind_is_gone_before_the_next_attempt_starts(cli: Cli, verb: str, mark: Mark) -> None:
    look = "[ -e pid ] && kill -0 $(cat pid) && echo it is still there"
    script = f"echo $INTURN_ATTEMPT; {look}; {NAP} & echo $! >pid; exit 1"
    cli.run(verb, "--wait", "--retries", 2, "-c", script, env=mark.environment).check(1)
    assert mark.alive() == {}
    assert cli.run("logs", 1, "--run", "all", "--stream", "stdout").check().text == "1\n2\n3\n"


@pytest.mark.allow_leftovers
def test_leave_children_leaves_them_and_gives_the_slot_back(cli: Cli, verb: str, mark: Mark) -> None:
    job = cli.run(verb, "--wait", "--leave-children", "-c", f"{NAP} & echo done", env=mark.environment).id
    assert used_slots(cli) == 0
    assert len(mark.running(NAP)) == 1
    assert cli.run("logs", "-f", job).check().text == "done\n"


def test_a_pipe_of_the_submitter_is_not_kept_open_by_the_job(cli: Cli, verb: str, mark: Mark) -> None:
    submitter = cli.popen(verb, "-c", f"echo started; {NAP}", env=mark.environment)
    printed, said = submitter.communicate(timeout=DEADLINE)  # ends with the last writer of the pipes
    assert (printed, said, submitter.returncode) == (b"1\n", b"", 0)
    mark.await_running(NAP)
    until(lambda: cli.run("logs", 1).out == b"started\n", "the output of the job")

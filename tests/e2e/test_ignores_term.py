"""A job that ignores the polite signal, or is stopped and cannot heed any, ends all the same."""

from __future__ import annotations

import signal
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.e2e.harness import Cli, until
from tests.e2e.traces import Mark

DEAF = "trap '' TERM INT HUP ALRM; touch ready; while :; do sleep 1; done"
STOPPED = "kill -STOP $$; touch went-on; sleep 319"


def lasted(run: dict[str, Any]) -> timedelta:
    return datetime.fromisoformat(run["finished_at"]) - datetime.fromisoformat(run["started_at"])


def test_a_deaf_run_is_killed_when_timeout_and_grace_period_are_over(cli: Cli, verb: str, mark: Mark) -> None:
    told = cli.run(
        *(verb, "--wait", "--run-timeout", "1s", "--stop-grace", "1s", "-c", DEAF), env=mark.environment
    )
    assert told.check(124).out == b"1\n"
    assert mark.alive() == {}
    shown = cli.show(1)
    (run,) = shown["runs"]
    assert (shown["outcome"], shown["reason"]) == ("timed_out", "run_timeout")
    assert (run["outcome"], run["exit_code"], run["signal"]) == ("timed_out", None, signal.SIGKILL)
    assert lasted(run) >= timedelta(seconds=2)


def test_a_deaf_run_is_cancelled(cli: Cli, verb: str, mark: Mark) -> None:
    job = cli.run(verb, "--stop-grace", "0.5s", "-c", DEAF, env=mark.environment).id
    mark.await_running("sleep 1")
    cli.run("cancel", job).check()
    cli.run("wait", job).check(6)
    assert mark.alive() == {}
    shown = cli.show(job)
    assert (shown["outcome"], shown["runs"][0]["outcome"]) == ("cancelled", "cancelled")
    assert shown["runs"][0]["signal"] == signal.SIGKILL


def test_a_deaf_run_has_its_whole_grace_period(cli: Cli, verb: str, mark: Mark) -> None:
    job = cli.run(verb, "--stop-grace", "1h", "-c", DEAF, env=mark.environment).id
    mark.await_running("sleep 1")
    cli.run("cancel", job).check()
    cli.wait_phase(job, "stopping")
    mark.await_running("sleep 1")
    mark.kill()
    cli.run("wait", job).check(6)
    assert cli.show(job)["outcome"] == "cancelled"


def test_a_deaf_run_that_is_to_be_repeated_after_a_timeout_is(cli: Cli, verb: str, mark: Mark) -> None:
    limits = ("--run-timeout", "0.3s", "--stop-grace", "0.2s", "--retries", 1)
    cli.run(verb, "--wait", *limits, "-c", DEAF, env=mark.environment).check(124)
    assert mark.alive() == {}
    shown = cli.show(1)
    assert shown["outcome"] == "timed_out"
    assert [run["outcome"] for run in shown["runs"]] == ["timed_out", "timed_out"]
    assert [run["signal"] for run in shown["runs"]] == [signal.SIGKILL, signal.SIGKILL]


def test_a_run_that_heeds_the_polite_signal_is_not_killed(cli: Cli, verb: str, mark: Mark) -> None:
    script = "trap 'echo bye; exit 3' TERM; sleep 319 & wait"
    limits = ("--run-timeout", "1s", "--stop-grace", "1h")
    cli.run(verb, "--wait", *limits, "-c", script, env=mark.environment).check(124)
    assert mark.alive() == {}
    (run,) = cli.show(1)["runs"]
    assert (run["outcome"], run["exit_code"], run["signal"]) == ("timed_out", 3, None)
    assert cli.run("logs", 1).check().text == "bye\n"


def test_a_stopped_run_times_out(cli: Cli, verb: str, mark: Mark) -> None:
    limits = ("--run-timeout", "0.5s", "--stop-grace", "0.5s")
    cli.run(verb, "--wait", *limits, "-c", STOPPED, env=mark.environment).check(124)
    assert mark.alive() == {}
    shown = cli.show(1)
    assert (shown["outcome"], shown["runs"][0]["outcome"]) == ("timed_out", "timed_out")
    assert shown["runs"][0]["signal"] in (signal.SIGTERM, signal.SIGKILL)
    assert not (cli.root / "went-on").exists()


def test_a_stopped_run_is_cancelled(cli: Cli, verb: str, mark: Mark) -> None:
    job = cli.run(verb, "--stop-grace", "0.5s", "-c", STOPPED, env=mark.environment).id
    cli.wait_phase(job, "running")
    cli.run("cancel", job).check()
    cli.run("wait", job).check(6)
    assert mark.alive() == {}
    assert cli.show(job)["outcome"] == "cancelled"


@pytest.mark.parametrize("script", [DEAF, "touch ready; sleep 319"], ids=["deaf", "heeding"])
def test_a_paused_run_is_cancelled(cli: Cli, verb: str, mark: Mark, script: str) -> None:
    job = cli.run(verb, "--stop-grace", "0.5s", "-c", script, env=mark.environment).id
    until((cli.root / "ready").exists, "the start of the script")
    cli.run("pause", job).check()
    cli.wait_phase(job, "paused")
    cli.run("cancel", job).check()
    cli.run("wait", job).check(6)
    assert mark.alive() == {}
    assert cli.show(job)["outcome"] == "cancelled"
    assert cli.run("pools", "--json").check().data["store"]["used"] == 0


def test_a_paused_run_goes_on_where_it_was(cli: Cli, verb: str, mark: Mark) -> None:
    script = "touch ready; until [ -e go ]; do sleep 0.02; done; echo done"
    job = cli.run(verb, "-c", script, env=mark.environment).id
    until((cli.root / "ready").exists, "the start of the script")
    cli.run("pause", job).check()
    cli.wait_phase(job, "paused")
    (cli.root / "go").touch()
    assert mark.alive()
    cli.run("resume", job).check()
    cli.run("wait", job).check()
    assert cli.run("logs", job).check().text == "done\n"

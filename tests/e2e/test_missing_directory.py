"""A working directory that is gone at the start is named as what it is, and the retry policy applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.harness import Cli, until


@pytest.fixture
def gone(cli: Cli) -> Path:
    """The directory of the job, which exists when the job is submitted."""
    path = cli.root / "gone soon"
    path.mkdir()
    return path


def submit_and_remove(cli: Cli, verb: str, gone: Path, *options: str | int) -> int:
    """Submit a job that is to run in the directory, and let it start when that is gone; returns its id."""
    gate = cli.root / "gate"
    job = cli.run(verb, "--wait-file", str(gate), "--wait-poll", "50ms", *options, "--", "pwd", cwd=gone).id
    gone.rmdir()
    gate.touch()
    return job


def test_it_is_a_start_failure_that_names_the_directory(cli: Cli, verb: str, gone: Path) -> None:
    job = submit_and_remove(cli, verb, gone)
    cli.run("wait", job, "--exit-status").check(126)
    shown = cli.show(job)
    (run,) = shown["runs"]
    assert (shown["outcome"], run["outcome"], run["failure"]) == ("failure", "start_failed", "cwd_missing")
    assert (run["exit_code"], run["signal"]) == (None, None)
    assert str(gone) in run["diagnostic"]
    assert "pwd" not in run["diagnostic"]


def test_every_way_to_ask_names_the_directory(cli: Cli, verb: str, gone: Path) -> None:
    job = submit_and_remove(cli, verb, gone)
    cli.run("wait", job).check(6)
    for verb_of_looking in ("show", "why"):
        assert str(gone) in cli.run(verb_of_looking, job).check().text


def test_a_directory_that_was_named_is_named_again(cli: Cli, verb: str, gone: Path) -> None:
    gate = cli.root / "gate"
    words = ("--wait-file", str(gate), "--wait-poll", "50ms", "--cwd", gone.name)
    job = cli.run(verb, *words, "-c", "pwd").id
    gone.rmdir()
    gate.touch()
    cli.run("wait", job).check(6)
    (run,) = cli.show(job)["runs"]
    assert (run["failure"], str(gone) in run["diagnostic"]) == ("cwd_missing", True)


def test_it_is_retried_as_any_unsuccessful_run(cli: Cli, verb: str, gone: Path) -> None:
    job = submit_and_remove(cli, verb, gone, "--retries", 2)
    cli.run("wait", job).check(6)
    shown = cli.show(job)
    assert (shown["outcome"], shown["attempts"]) == ("failure", 3)
    assert [run["failure"] for run in shown["runs"]] == ["cwd_missing"] * 3


def test_it_is_not_retried_where_only_exit_codes_are_listed(cli: Cli, verb: str, gone: Path) -> None:
    job = submit_and_remove(cli, verb, gone, "--retries", 2, "--retryable-exit-code", 1)
    cli.run("wait", job).check(6)
    assert cli.show(job)["attempts"] == 1


def test_it_is_retried_where_start_failures_are_listed(cli: Cli, verb: str, gone: Path) -> None:
    job = submit_and_remove(cli, verb, gone, "--retries", 1, "--retry-start-failures")
    cli.run("wait", job).check(6)
    assert cli.show(job)["attempts"] == 2


def test_a_directory_that_comes_back_is_found_by_a_later_attempt(cli: Cli, verb: str, gone: Path) -> None:
    job = submit_and_remove(cli, verb, gone, "--retries", 100_000, "--retry-delay", "100ms")
    until(lambda: cli.show(job)["runs"], "a first run")
    gone.mkdir()
    cli.run("wait", job).check()
    runs = cli.show(job)["runs"]
    assert {run["outcome"] for run in runs[:-1]} == {"start_failed"}
    assert cli.run("logs", job).check().text == f"{gone}\n"


def test_its_end_is_a_failure_for_those_who_wait_for_one(cli: Cli, verb: str, gone: Path) -> None:
    job = submit_and_remove(cli, verb, gone)
    cli.run(verb, "--wait", "--after-failed", job, "--", "true").check()


def test_no_slot_is_kept(cli: Cli, verb: str, gone: Path) -> None:
    cli.run("limit", 1).check()
    job = submit_and_remove(cli, verb, gone)
    cli.run("wait", job).check(6)
    assert cli.run("pools", "--json").check().data["store"]["used"] == 0

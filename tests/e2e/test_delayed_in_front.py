"""A job that cannot run yet holds back nobody, whatever its priority, and holds nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until

LATER = {
    "delayed for an hour": ("--after", "1h"),
    "delayed until a time": ("--at", "4102444800"),
    "waiting for a file": ("--wait-file", "never"),
    "waiting for a time": ("--wait-delay", "1h"),
}
later = pytest.mark.parametrize("options", LATER.values(), ids=LATER)


def assert_holds_nothing(cli: Cli, job: int) -> None:
    shown = cli.show(job)
    assert (shown["admission"], shown["lease_expires_at"]) == (None, None)
    assert cli.run("pools", "--json").check().data["store"]["used"] == 0


def totals(cli: Cli) -> dict[str, Any]:
    found: dict[str, Any] = cli.run("status", "--json").check().data
    return found


@later
def test_behind_a_ceiling_of_one_a_ready_job_runs_before_a_later_one(
    cli: Cli, options: tuple[str, str]
) -> None:
    front = cli.run("add", "--priority", 100, *options, "--", "true").id
    ready = cli.run("add", "--priority", -100, "--", "true").id
    start_worker(cli, "--slots", 1)
    cli.run("wait", ready).check()
    shown = cli.show(front)
    assert (shown["attempts"], shown["runs"], shown["outcome"]) == (0, [], None)
    assert_holds_nothing(cli, front)


@later
def test_in_a_store_with_one_slot_a_ready_job_runs_before_a_later_one(
    cli: Cli, verb: str, options: tuple[str, str]
) -> None:
    cli.run("limit", 1).check()
    front = cli.run(verb, "--priority", 100, *options, "--", "true").id
    cli.run(verb, "--wait", "--priority", -100, "--", "true").check()
    assert cli.show(front)["attempts"] == 0
    assert_holds_nothing(cli, front)


@pytest.mark.parametrize("limited_by", ["a ceiling", "the store"])
def test_a_job_in_backoff_holds_back_nobody(cli: Cli, limited_by: str) -> None:
    if limited_by == "a ceiling":
        start_worker(cli, "--slots", 1)
    else:
        cli.run("limit", 1).check()
        start_worker(cli)
    front = cli.run("add", "--priority", 100, "--retries", 1, "--retry-delay", "1h", "--", "false").id
    until(lambda: cli.show(front)["status"] == "backoff", "the first attempt to have failed")
    assert_holds_nothing(cli, front)
    cli.run("add", "--wait", "--priority", -100, "--", "true").check()
    shown = cli.show(front)
    assert (shown["status"], shown["attempts"]) == ("backoff", 1)


def test_a_supervised_job_in_backoff_holds_back_nobody(cli: Cli) -> None:
    cli.run("limit", 1).check()
    front = cli.run("run", "--priority", 100, "--retries", 1, "--retry-delay", "1h", "--", "false").id
    until(lambda: cli.show(front)["status"] == "backoff", "the first attempt to have failed")
    assert_holds_nothing(cli, front)
    cli.run("run", "--wait", "--priority", -100, "--", "true").check()


def test_later_jobs_are_told_apart_in_the_totals(cli: Cli) -> None:
    delayed = cli.run("add", "--after", "1h", "--", "true").id
    again = cli.run("add", "--retries", 1, "--retry-delay", "1h", "--", "false").id
    start_worker(cli)
    until(lambda: cli.show(again)["status"] == "backoff", "the first attempt to have failed")
    found = totals(cli)
    assert (found["queued"], found["scheduled"], found["backoff"], found["running"]) == (2, 2, 1, 0)
    assert [cli.show(job)["attempts"] for job in (delayed, again)] == [0, 1]


def test_a_worker_that_drains_waits_for_a_backoff_and_not_for_a_users_delay(cli: Cli) -> None:
    cli.run("add", "--after", "1h", "--", "true").check()
    again = cli.run("add", "--retries", 2, "--retry-delay", "300ms", "-c", "[ $INTURN_ATTEMPT = 3 ]").id
    cli.run("work", "--drain").check()
    assert (cli.show(again)["outcome"], cli.show(again)["attempts"]) == ("success", 3)
    assert totals(cli)["scheduled"] == 1


def test_when_its_time_has_come_the_later_job_goes_first(cli: Cli) -> None:
    cli.run("limit", 1).check()
    holder = cli.run("run", "-c", "until [ -e go ]; do sleep 0.05; done").id
    cli.wait_phase(holder, "running")
    note = "echo $INTURN_JOB_ID >>order"
    behind = cli.run("run", "--priority", 1, "-c", note).id
    front = cli.run("run", "--priority", 2, "--after", "200ms", "-c", note).id
    until(lambda: cli.show(front)["status"] == "queued", "the delay to be over")
    (cli.root / "go").touch()
    cli.run("wait", holder, behind, front).check()
    assert (cli.root / "order").read_text() == f"{front}\n{behind}\n"

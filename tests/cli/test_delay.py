"""A user's delay: a queued job with a future next_run_at, and no state of its own."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.e2e.harness import Cli

VERBS = pytest.mark.parametrize("verb", ["add", "run"])


def submit(cli: Cli, verb: str, *options: str | int) -> dict[str, Any]:
    return cli.show(cli.run(verb, *options, "--", "true").id)


@pytest.mark.parametrize("at", ["0", "1", "1000000000.5", "2001-01-01", "2001-01-01T00:00:00Z"])
def test_a_time_in_the_past_is_now(cli: Cli, at: str) -> None:
    shown = submit(cli, "add", "--at", at)
    assert (shown["phase"], shown["status"], shown["attempts"]) == ("queued", "queued", 0)
    assert shown["next_run_at"] == shown["submitted_at"]


@pytest.mark.parametrize("after", ["0", "0s"])
def test_no_delay_is_none(cli: Cli, after: str) -> None:
    shown = submit(cli, "add", "--after", after)
    assert (shown["status"], shown["next_run_at"]) == ("queued", shown["submitted_at"])


@VERBS
@pytest.mark.parametrize("after", ["3600", "3600s", "60m", "1h", "1d"])
def test_a_delayed_job_is_queued_with_a_time_in_the_future(cli: Cli, verb: str, after: str) -> None:
    shown = submit(cli, verb, "--after", after)
    assert (shown["phase"], shown["status"], shown["attempts"]) == ("queued", "scheduled", 0)
    assert shown["next_run_at"] > shown["submitted_at"]


def test_a_time_may_be_given_in_epoch_seconds_or_as_iso_8601(cli: Cli) -> None:
    then = int(time.time()) + 7200
    written = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(then))
    found = {
        submit(cli, "add", "--at", at)["next_run_at"] for at in (str(then), f"{written}Z", f"{written}+00:00")
    }
    assert found == {f"{written}Z"} or found == {f"{written}.000000Z"}


@VERBS
def test_after_and_at_exclude_each_other(cli: Cli, verb: str) -> None:
    told = cli.run(verb, "--after", "1h", "--at", "2099-01-01", "--", "true").check(2)
    assert b"--after" in told.err
    assert b"--at" in told.err
    line = json.dumps({"command": ["true"], "after": "1h", "at": "2099-01-01"})
    cli.run(verb, "--from-file", "-", input=line).check(2)
    assert cli.run("list", "--json").check().data == []


def test_what_is_given_wins_over_a_default_that_it_excludes(cli: Cli) -> None:
    cli.configure('schema_version: 1\ndefaults: {after: "1h"}\n')
    assert submit(cli, "add")["status"] == "scheduled"
    assert submit(cli, "add", "--at", "0")["status"] == "queued"


def test_scheduled_counts_delays_and_backoffs_which_the_attempts_tell_apart(cli: Cli) -> None:
    delayed = submit(cli, "add", "--after", "1h")["id"]
    failing = cli.run("add", "--retries", 1, "--retry-delay", "1h", "--", "false").id
    ready = cli.run("add", "--queue", "other", "--", "true").id
    cli.run("work", "--once").check()
    totals = cli.run("status", "--json").check().data
    assert (totals["queued"], totals["scheduled"], totals["backoff"]) == (3, 2, 1)
    (lane,) = [each for each in totals["queues"] if each["name"] == "default"]
    assert (lane["queued"], lane["scheduled"], lane["backoff"]) == (2, 2, 1)
    listed = {job["id"]: job for job in cli.run("list", "--json").check().data}
    assert {job: (it["phase"], it["status"], it["attempts"]) for job, it in listed.items()} == {
        delayed: ("queued", "scheduled", 0),
        failing: ("queued", "backoff", 1),
        ready: ("queued", "queued", 0),
    }
    plain = {line.split("\t")[0]: line.split("\t") for line in cli.run("list").check().text.splitlines()}
    assert {job: plain[str(job)][7] for job in listed} == {delayed: "0", failing: "1", ready: "0"}

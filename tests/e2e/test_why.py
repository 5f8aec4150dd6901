"""What `why` says has to be true, and the command that it names has to change it."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from typing import Any

from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until

HOLD = "while [ ! -e go ]; do sleep 0.05; done"


def _reasons(cli: Cli, job: int) -> list[dict[str, Any]]:
    """All reasons of a job, each before those below it; `show` has the same ones."""

    def below(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for reason in found:
            yield reason
            yield from below(reason["because"])

    return list(below(cli.show(job)["reasons"]))


def _told(cli: Cli, job: int, code: str) -> dict[str, Any]:
    """The first reason with this code, once it is there."""
    found = until(
        lambda: [reason for reason in _reasons(cli, job) if reason["code"] == code],
        f"{code} among the reasons of job {job}",
    )
    return found[0]


def _follow(cli: Cli, reason: dict[str, Any]) -> None:
    """Do what a reason advises."""
    program, *words = shlex.split(reason["fix"])
    assert program == "inturn"
    cli.run(*words).check()


def test_a_chain_of_dependencies_is_told_down_to_who_holds_the_pool_at_its_root(cli: Cli) -> None:
    cli.run("pools", "set", "analysis", 1).check()
    holder = cli.run("run", "--name", "first", "--pool", "analysis", "-c", HOLD).id
    cli.wait_phase(holder, "running")
    chain = [cli.run("run", "--pool", "analysis", "--", "true").id]
    for _ in range(3):
        chain.append(cli.run("run", "--after-success", chain[-1], "--", "true").id)
    root = _told(cli, chain[-1], "full")
    assert [reason["code"] for reason in _reasons(cli, chain[-1])] == [*["dependency"] * 3, "full", "holder"]
    assert [reason["job_id"] for reason in _reasons(cli, chain[-1])[:3]] == chain[-2::-1]
    assert root["because"][0]["job_id"] == holder
    assert f'job {holder} ("first") holds 1 slot since ' in root["because"][0]["message"]
    assert root["fix"] == "inturn pools set analysis 2"
    _follow(cli, root)
    cli.run("wait", chain[-1]).check()
    (cli.root / "go").touch()


def test_a_store_wide_limit_that_was_lowered_is_told_and_raised_again(cli: Cli) -> None:
    cli.run("limit", 2).check()
    holder = cli.run("run", "-c", HOLD).id
    cli.wait_phase(holder, "running")
    wide = cli.run("run", "--slots", 2, "--", "true").id
    _told(cli, wide, "full")
    cli.run("limit", 1).check()
    lowered = _told(cli, wide, "too_large")
    assert "the store has only 1 slot by now" in lowered["message"]
    _follow(cli, lowered)
    full = _told(cli, wide, "full")
    assert full["because"][0]["job_id"] == holder
    _follow(cli, full)
    cli.run("wait", wide).check()
    (cli.root / "go").touch()


def test_the_place_in_line_is_told_and_a_higher_priority_changes_it(cli: Cli) -> None:
    cli.run("limit", 1).check()
    cli.wait_phase(cli.run("run", "-c", HOLD).id, "running")
    first = cli.run("run", "--name", "early", "--priority", 7, "--", "true").id
    last = cli.run("run", "--", "true").id
    place = _told(cli, last, "place")
    assert f'number 2 in line, after job {first} ("early")' in place["message"]
    _follow(cli, place)
    until(
        lambda: "place" not in [reason["code"] for reason in _reasons(cli, last)],
        "the job at the head of the line",
    )
    (cli.root / "go").touch()


def test_what_keeps_the_workers_of_a_queue_busy_is_told(cli: Cli) -> None:
    waiting = cli.run("add", "--queue", "gpu", "-c", HOLD).id
    assert _told(cli, waiting, "no_worker")["fix"] == "inturn work --queue gpu"
    start_worker(cli, "--queue", "gpu", "--slots", 1)
    cli.wait_phase(waiting, "running")
    second = cli.run("add", "--queue", "gpu", "--", "true").id
    busy = _told(cli, second, "workers_busy")
    assert [reason["code"] for reason in busy["because"]] == ["ceiling", "holder"]
    assert busy["because"][1]["job_id"] == waiting
    (cli.root / "go").touch()
    cli.run("wait", second).check()


def test_what_is_paused_is_told_and_resumed(cli: Cli) -> None:
    cli.run("pools", "set", "analysis", 1).check()
    cli.run("pause", "--pool", "analysis").check()
    job = cli.run("run", "--pool", "analysis", "--", "true").id
    _follow(cli, _told(cli, job, "paused"))
    cli.run("wait", job).check()
    job = cli.run("run", "--after", "1h", "--", "true").id
    cli.run("pause", job).check()
    _follow(cli, _told(cli, job, "paused"))
    _follow(cli, _told(cli, job, "delay"))
    cli.run("wait", job).check()


def test_a_job_in_backoff_need_not_wait(cli: Cli) -> None:
    again = ("-c", "test -e again || { touch again; exit 3; }")
    job = cli.run("run", "--retries", 1, "--retry-delay", "1h", *again).id
    backoff = _told(cli, job, "backoff")
    assert "exited with 3" in backoff["because"][0]["message"]
    _follow(cli, backoff)
    cli.run("wait", job).check()


def test_the_jobs_of_an_array_that_run_instead_are_told(cli: Cli) -> None:
    jobs = cli.run("run", "--array", "1-2%1", "-c", HOLD).ids
    until(lambda: sorted(cli.phase(job) for job in jobs) == ["queued", "running"], "one that runs")
    (running,) = [job for job in jobs if cli.phase(job) == "running"]
    (queued,) = [job for job in jobs if job != running]
    full = _told(cli, queued, "full")
    assert full["because"][0]["job_id"] == running
    assert cli.run(*shlex.split(full["fix"])[1:]).check().text.startswith(f"{running}\t")
    (cli.root / "go").touch()


def test_an_owner_that_died_is_told_and_replaced(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "go", "--", "true").id
    waits = cli.run("run", "--after-success", job, "--", "true").id
    os.kill(cli.show(job)["owner"]["pid"], signal.SIGKILL)
    _follow(cli, _told(cli, waits, "owner_dead"))
    assert _told(cli, waits, "condition")["message"].startswith('it waits for "go" to exist')
    (cli.root / "go").touch()
    cli.run("wait", waits).check()


def test_who_made_a_job_abort_is_told_and_both_are_had_again(cli: Cli) -> None:
    parent = cli.run("run", "-c", "test -e there").id
    child = cli.run("run", "--after-success", parent, "--", "true").id
    grandchild = cli.run("run", "--after-success", child, "--", "true").id
    cli.run("wait", grandchild).check(6)
    told = [reason for reason in _reasons(cli, grandchild) if reason["fix"]]
    assert [reason["job_id"] for reason in told] == [parent, parent]
    (cli.root / "there").touch()
    _follow(cli, told[0])
    cli.run("wait", grandchild).check()


def test_jobs_that_ran_out_of_time_say_of_which_and_are_had_again(cli: Cli) -> None:
    slow = cli.run("run", "--run-timeout", "100ms", "-c", "test -e go || exec sleep 600").id
    late = cli.run("run", "--wait-file", "go", "--job-timeout", "100ms", "--", "true").id
    for job, option in ((slow, "--run-timeout 100ms"), (late, "--job-timeout 100ms")):
        cli.run("wait", job).check(6)
        assert option in _told(cli, job, "ended")["message"]
    (cli.root / "go").touch()
    _follow(cli, _told(cli, slow, "ended"))
    cli.run("wait", slow)
    assert cli.show(slow)["round"] == 2


def test_an_owner_that_is_stopped_is_told_and_let_go_on(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "-c", HOLD).id
    owner = cli.wait_phase(job, "running")["owner"]["pid"]
    os.kill(owner, signal.SIGSTOP)
    try:
        told = _told(cli, job, "owner_stopped")
        found = cli.run("doctor", "--json").check(1).data["findings"]
    finally:
        os.kill(owner, signal.SIGCONT)
    assert f"process {owner}, is stopped" in told["message"]
    (problem,) = [one for one in found if one["severity"] == "problem"]
    assert f"(process {owner}) is stopped and has job {job}" in problem["message"]
    assert told["fix"] == problem["fix"] == f"kill -CONT {owner}"
    (cli.root / "go").touch()
    cli.run("wait", job).check()
    assert "owner_stopped" not in [reason["code"] for reason in _reasons(cli, job)]

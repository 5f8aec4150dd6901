"""While a job with a key is not over, its id answers every submission with that key, however many race."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.harness import DEADLINE, Cli, until

JOB = "until [ -e go ]; do sleep 0.05; done"
RACERS = 50


@pytest.fixture(params=["run", "add"])
def submit(request: pytest.FixtureRequest) -> str:
    """How a job is submitted; no worker serves it yet."""
    verb: str = request.param
    return verb


def race(cli: Cli, *words: str) -> set[int]:
    """Run a submission many times at once; returns the ids that were printed."""
    racers = [cli.popen(*words) for _ in range(RACERS)]
    printed = [racer.communicate(timeout=DEADLINE) for racer in racers]
    assert {racer.returncode for racer in racers} == {0}, printed
    assert {said for _, said in printed} == {b""}
    return {int(line) for line, _ in printed}


def ids(cli: Cli) -> list[int]:
    return sorted(job["id"] for job in cli.run("list", "--all", "--json").check().data)


def test_all_racers_get_the_one_job_before_and_while_it_runs_and_a_new_one_after(
    cli: Cli, submit: str
) -> None:
    words = (submit, "--key", "k", "-c", JOB)
    (job,) = race(cli, *words)
    if submit == "add":
        assert cli.phase(job) == "queued"
        start_worker(cli)
    cli.wait_phase(job, "running")
    assert race(cli, *words) == {job}
    assert ids(cli) == [job]
    (cli.root / "go").touch()
    cli.run("wait", job).check()
    (another,) = race(cli, *words[:-1], f"{JOB}; until [ -e go2 ]; do sleep 0.05; done")
    assert another != job
    assert ids(cli) == [job, another]
    (cli.root / "go2").touch()
    cli.run("wait", another).check()


def test_the_losers_of_a_race_leave_no_process_and_no_file(cli: Cli, submit: str) -> None:
    (job,) = race(cli, submit, "--key", "k", "-c", JOB)
    cli.run("cancel", job).check()
    until(lambda: not cli.processes(), "the end of every process")
    assert [path.name for path in (cli.store / "owners").iterdir()] == []


def test_another_command_under_the_key_is_a_conflict_and_nothing_is_stored(cli: Cli, submit: str) -> None:
    job = cli.run(submit, "--key", "k", "--", "sleep", 322).id
    for words in (["--", "sleep", "323"], ["--", "sleep", "322", ""], ["-c", "sleep 322"]):
        told = cli.run(submit, "--json", "--key", "k", *words).check(5)
        assert told.json["error"]["code"] == "conflict"
        assert str(job) in told.json["error"]["message"]
    assert ids(cli) == [job]
    assert cli.run(submit, "--key", "k2", "--", "sleep", 323).id != job


def test_the_key_counts_for_both_kinds(cli: Cli) -> None:
    job = cli.run("add", "--key", "k", "--", "sleep", 322).id
    assert cli.run("run", "--key", "k", "--", "sleep", 322).id == job
    cli.run("run", "--key", "k", "--", "sleep", 323).check(5)
    assert ids(cli) == [job]


def test_a_racing_conflict_has_one_winner(cli: Cli, submit: str) -> None:
    racers = [cli.popen(submit, "--key", "k", "--", "sleep", 300 + number) for number in range(20)]
    printed = [racer.communicate(timeout=DEADLINE)[0] for racer in racers]
    assert sorted(racer.returncode for racer in racers) == [0] + [5] * 19
    assert ids(cli) == [int(b"".join(printed))]


def test_the_key_of_a_cancelled_job_is_free_again(cli: Cli, submit: str) -> None:
    job = cli.run(submit, "--key", "k", "--", "sleep", 322).id
    cli.run("cancel", job).check()
    cli.run("wait", job).check(6)
    assert cli.run(submit, "--key", "k", "--", "sleep", 323).id != job


def test_waiting_under_a_key_is_waiting_for_the_one_job(cli: Cli, submit: str) -> None:
    job = cli.run(submit, "--key", "k", "-c", f"{JOB}; exit 3").id
    waiters = [cli.popen(submit, "--wait", "--key", "k", "-c", f"{JOB}; exit 3") for _ in range(3)]
    if submit == "add":
        start_worker(cli)
    (cli.root / "go").touch()
    printed = [waiter.communicate(timeout=DEADLINE)[0] for waiter in waiters]
    assert [waiter.returncode for waiter in waiters] == [3, 3, 3]
    # Who came when the job was over has a job of its own.
    assert all(int(line) >= job for line in printed)

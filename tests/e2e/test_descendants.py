"""A job that times out or is cancelled leaves nothing behind, however far its processes have gone."""

from __future__ import annotations

import sys
import time

import pytest

from tests.e2e.harness import Cli, until
from tests.e2e.shells import environment
from tests.e2e.traces import Mark, zombies_of

NAP = "sleep 317"

# The command, and how many of its processes sleep.
TREES = {
    "children of children": (f"sh -c '{NAP} & {NAP}' & wait", 2),
    "orphans of a shell that has ended": (f"sh -c '{NAP} & {NAP} &'; {NAP}", 3),
    "a session of its own": (f"sh -c 'setsid {NAP} & {NAP}' & wait", 2),
    "an orphan in a session of its own": (f"sh -c 'setsid {NAP} &'; {NAP}", 2),
    "without its environment": (f"env -i {NAP} & setsid {NAP} & wait", 1),
    "without our files": (f"setsid {NAP} >/dev/null 2>&1 & {NAP}", 2),
}
trees = pytest.mark.parametrize(("command", "sleepers"), TREES.values(), ids=TREES)


@pytest.fixture(autouse=True)
def one_slot(cli: Cli) -> None:
    """The store has a single slot, so that another job starts only when it has been given back."""
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 1}\n")


def assert_nothing_is_left(cli: Cli, mark: Mark, verb: str) -> None:
    """To be called when the job has been seen to be over: not a moment later may anything of it live."""
    assert mark.alive() == {}
    assert NAP not in cli.processes().values()
    assert cli.run("pools", "--json").check().data["store"]["used"] == 0
    cli.run(verb, "--wait", "--", "true").check()


# A process that has ended before anybody could look at it twice, and left another one: deaf to TERM, in a
# session of its own, without our files.
FLIGHT = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork():
    time.sleep(600)
for stream in (0, 1, 2):
    os.close(stream)
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    with open("hops", "ab", buffering=0) as hops:
        hops.write(b".")
    time.sleep(0.003)
"""


def hops(cli: Cli) -> int:
    path = cli.root / "hops"
    return path.stat().st_size if path.exists() else 0


def hop(cli: Cli, verb: str, mark: Mark) -> int:
    """A job with such a chain of processes, which is under way."""
    job = cli.run(verb, "--stop-grace", "0.2s", "--", sys.executable, "-c", FLIGHT, env=mark.environment).id
    before = hops(cli)
    until(lambda: hops(cli) > before + 10, "some hops")
    return job


def test_a_process_that_flees_from_fork_to_fork_is_ended_with_its_job(
    cli: Cli, verb: str, mark: Mark
) -> None:
    for _ in range(4):
        job = hop(cli, verb, mark)
        cli.run("cancel", job).check()
        cli.run("wait", job).check(6)
        assert_nothing_is_left(cli, mark, verb)


def test_a_process_that_flees_from_fork_to_fork_stands_still_while_its_job_is_paused(
    cli: Cli, verb: str, mark: Mark
) -> None:
    job = hop(cli, verb, mark)
    for _ in range(3):
        cli.run("pause", job).check()
        until(lambda: stands_still(cli), "the end of the hops")
        before = hops(cli)
        cli.run("resume", job).check()
        until(lambda: hops(cli) > before + 10, "some hops")  # noqa: B023
    cli.run("cancel", job).check()
    cli.run("wait", job).check(6)


def stands_still(cli: Cli) -> bool:
    """Whether nothing is written for a hundred times as long as a hop takes."""
    before, end = hops(cli), time.monotonic() + 0.3
    until(lambda: time.monotonic() > end, "the end of the time")
    return hops(cli) == before


@trees
def test_a_run_that_times_out_leaves_nothing(
    cli: Cli, verb: str, mark: Mark, command: str, sleepers: int
) -> None:
    # All of them heed TERM: none may need the KILL that would come after the time of this test.
    cli.run(
        *(verb, "--wait", "--run-timeout", "1s", "--stop-grace", "1h", "-c", command), env=mark.environment
    ).check(124)
    assert_nothing_is_left(cli, mark, verb)
    shown = cli.show(1)
    assert (shown["outcome"], shown["reason"]) == ("timed_out", "run_timeout")
    assert [run["outcome"] for run in shown["runs"]] == ["timed_out"]


@trees
def test_a_job_that_is_cancelled_leaves_nothing(
    cli: Cli, verb: str, mark: Mark, command: str, sleepers: int
) -> None:
    job = cli.run(verb, "--stop-grace", "1h", "-c", command, env=mark.environment).id
    mark.await_running(NAP, sleepers)
    cli.run("cancel", job).check()
    cli.run("wait", job).check(6)
    assert_nothing_is_left(cli, mark, verb)
    assert cli.show(job)["outcome"] == "cancelled"


def test_processes_that_ignore_the_polite_signal_are_killed(cli: Cli, verb: str, mark: Mark) -> None:
    command, sleepers = TREES["an orphan in a session of its own"]
    stubborn = f"trap '' TERM; {command}"
    job = cli.run(verb, "--stop-grace", "0.2s", "-c", stubborn, env=mark.environment).id
    mark.await_running(NAP, sleepers)
    cli.run("cancel", job).check()
    cli.run("wait", job).check(6)
    assert_nothing_is_left(cli, mark, verb)
    assert cli.show(job)["outcome"] == "cancelled"


def test_a_whole_job_that_times_out_leaves_nothing(cli: Cli, verb: str, mark: Mark) -> None:
    command, _ = TREES["a session of its own"]
    cli.run(
        *(verb, "--wait", "--job-timeout", "1s", "--retries", 5, "-c", command), env=mark.environment
    ).check(124)
    assert_nothing_is_left(cli, mark, verb)
    shown = cli.show(1)
    assert (shown["outcome"], shown["reason"]) == ("timed_out", "job_timeout")
    assert shown["attempts"] == 1


def test_a_cancelled_job_ends_nobody_elses_processes(cli: Cli, verb: str, mark: Mark) -> None:
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 2}\n")
    stranger = Mark()
    other = cli.run(verb, "-c", f"setsid {NAP} & {NAP}", env=stranger.environment).id
    stranger.await_running(NAP, 2)
    job = cli.run(verb, "-c", f"setsid {NAP} & {NAP}", env=mark.environment).id
    mark.await_running(NAP, 2)
    cli.run("cancel", job).check()
    cli.run("wait", job).check(6)
    assert mark.alive() == {}
    assert len(stranger.running(NAP)) == 2
    assert cli.phase(other) == "running"


def test_a_job_that_a_job_submitted_is_no_part_of_it(cli: Cli, verb: str, mark: Mark) -> None:
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 2}\n")
    inner = Mark()
    script = f"MARK_OF_THE_TEST={inner.value} inturn {verb} -- {NAP}; {NAP}"
    outer = cli.run(verb, "-c", script, env=environment(cli, mark.environment)).id
    mark.await_running(NAP)
    inner.await_running(NAP)
    cli.run("cancel", outer).check()
    cli.run("wait", outer).check(6)
    assert mark.alive() == {}
    assert len(inner.running(NAP)) == 1
    assert cli.phase(2) == "running"


def test_orphans_that_end_do_not_stay_as_zombies(cli: Cli, verb: str, mark: Mark) -> None:
    script = f"for i in 1 2 3 4 5; do sh -c '(sleep 0.01; touch orphan.$0) &' $i; done; {NAP}"
    job = cli.run(verb, "-c", script, env=mark.environment).id
    until(lambda: len(list(cli.root.glob("orphan.*"))) == 5, "the end of all orphans")
    owner = cli.show(job)["owner"]["pid"]
    until(lambda: not zombies_of(owner), "the burial of all orphans")

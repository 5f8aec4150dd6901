"""Supervised and queued jobs share a store: its limits, its line, its dependencies; nobody waits in vain."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.harness import DEADLINE, Cli, until
from tests.e2e.ledger import admitted, most_at_once

# Takes one of two places, made by nobody else; says so if there is none.
IN_TWO_PLACES = """\
for place in 1 2; do
    if mkdir place.$place 2>/dev/null; then
        sleep 0.05
        rmdir place.$place
        exit 0
    fi
done
echo >>clashes
"""


def worker(cli: Cli, *options: str | int) -> subprocess.Popen[bytes]:
    with open(cli.root / "worker.err", "ab") as errors:
        return cli.popen("work", *options, stdout=subprocess.DEVNULL, stderr=errors)


def hold(cli: Cli, verb: str, name: str, *options: str | int) -> int:
    """Submit a job that runs until `let_go`."""
    return cli.run(verb, *options, "-c", f"until [ -e {name}.go ]; do sleep 0.02; done").id


def running(cli: Cli, verb: str, name: str, *options: str | int) -> int:
    """As `hold`, and see it run."""
    job = hold(cli, verb, name, *options)
    cli.wait_phase(job, "running")
    return job


def let_go(cli: Cli, name: str) -> None:
    (cli.root / f"{name}.go").touch()


LIMITS = {
    "the store": ("{max_active_slots: 2}", ()),
    "a pool": ("{pools: {two: 2}}", ("--pool", "two")),
    "a pool in a limited store": ("{max_active_slots: 3, pools: {two: 2}}", ("--pool", "two")),
}


@pytest.mark.parametrize(("limits", "options"), LIMITS.values(), ids=LIMITS)
def test_a_limit_holds_over_both_kinds(cli: Cli, limits: str, options: tuple[str, ...]) -> None:
    cli.configure(f"schema_version: 1\nconcurrency: {limits}\n")
    worker(cli, "-j", 8)
    worker(cli, "-j", 8, "--queue", "other")
    kinds = (("run",), ("add",), ("add", "--queue", "other"))
    jobs = [cli.run(*kinds[number % 3], *options, "-c", IN_TWO_PLACES).id for number in range(12)]
    cli.run("wait", *jobs).check()
    assert not (cli.root / "clashes").exists()
    assert most_at_once(cli, jobs) <= 2
    assert sorted(admitted(cli, jobs)) == jobs


def test_a_queue_that_nobody_serves_holds_nobody_back(cli: Cli) -> None:
    cli.run("limit", 1).check()
    stuck = [cli.run("add", "--queue", "nobodys", "--priority", 9, "--", "true").id for _ in range(3)]
    cli.run("run", "--wait", "--", "true").check()
    queued = cli.run("add", "--", "true").id
    cli.run("work", "--drain").check()
    assert cli.show(queued)["outcome"] == "success"
    assert [(cli.show(job)["phase"], cli.show(job)["bypass_count"]) for job in stuck] == [("queued", 0)] * 3


FULL = {
    "no place": ("-j", 1),
    "its ceiling": ("-j", 4, "--slots", 1),
}


@pytest.mark.parametrize("options", FULL.values(), ids=FULL)
def test_a_queue_whose_workers_are_full_holds_nobody_back(cli: Cli, options: tuple[str | int, ...]) -> None:
    cli.run("limit", 2).check()
    worker(cli, *options)
    running(cli, "add", "busy")
    stuck = cli.run("add", "--priority", 9, "--", "true").id
    # One slot is free, and the one who stands first has nobody to take it.
    cli.run("run", "--wait", "--", "true").check()
    assert (cli.phase(stuck), cli.show(stuck)["bypass_count"]) == ("queued", 0)
    let_go(cli, "busy")
    cli.run("wait", stuck).check()


@pytest.mark.parametrize(("of", "on"), [("run", "add"), ("add", "run")])
def test_one_kind_may_wait_for_the_other(cli: Cli, of: str, on: str) -> None:
    worker(cli, "-j", 4)
    good = hold(cli, of, "parents")
    bad = cli.run(of, "-c", "until [ -e parents.go ]; do sleep 0.02; done; exit 1").id
    children = {
        cli.run(on, option, parent, "--", "true").id: outcome
        for option, parent, outcome in (
            ("--after-success", good, "success"),
            ("--after-success", bad, "aborted"),
            ("--after-failed", good, "aborted"),
            ("--after-failed", bad, "success"),
            ("--after-finish", bad, "success"),
        )
    }
    both = cli.run(on, "--after-success", good, "--after-failed", bad, "--", "true").id
    assert {cli.phase(child) for child in (*children, both)} == {"waiting"}
    let_go(cli, "parents")
    cli.run("wait", both, *children).check(6)
    assert {child: cli.show(child)["outcome"] for child in children} == children
    assert cli.show(both)["outcome"] == "success"


# A probe that notes whether another one of its job is there at the same time, and is satisfied by a file.
PROBE = """\
#!/bin/sh
exec 9>probing.$1
flock -n 9 || echo >>clashes
echo >>probed
sleep 0.1
[ -e there ]
"""


def owner(cli: Cli, job: int) -> int | None:
    """The process that looks at the conditions of a job."""
    kept = cli.show(job)["owner"]
    return None if kept is None else kept["pid"]


def probes(cli: Cli) -> int:
    path = cli.root / "probed"
    return len(path.read_text()) if path.exists() else 0


def test_one_worker_at_a_time_looks_at_the_conditions_of_a_queued_job(cli: Cli) -> None:
    probe = cli.root / "probe"
    probe.write_text(PROBE)
    probe.chmod(0o755)
    poll = ("--wait-poll", "20ms")
    workers = {process.pid: process for process in (worker(cli) for _ in range(4))}
    jobs = [
        cli.run("add", *poll, "--wait-probe", f"./probe {number}", "--", "true").id for number in range(3)
    ]
    file = cli.run("add", *poll, "--wait-file", "there", "--", "true").id
    until(lambda: probes(cli) > 30, "many looks at the conditions")
    watching = {owner(cli, job) for job in (*jobs, file)}
    assert watching <= workers.keys()

    # Whoever looks leaves, and somebody else goes on; never are there two.
    for pid in list(workers)[:3]:
        workers[pid].terminate()
        workers[pid].wait(timeout=DEADLINE)
    (left,) = list(workers)[3:]
    until(lambda: {owner(cli, job) for job in (*jobs, file)} == {left}, "the last worker to look at all")
    seen = probes(cli)
    until(lambda: probes(cli) > seen + 10, "more looks")
    (cli.root / "there").touch()
    cli.run("wait", *jobs, file).check()
    assert not (cli.root / "clashes").exists()


def test_a_worker_that_ends_leaves_no_probe_behind(cli: Cli) -> None:
    cli.run("add", "--probe-timeout", "1h", "--wait-probe", "sleep 318", "--", "true").check()
    looking = worker(cli)

    def probing() -> bool:
        return "sleep 318" in cli.processes().values()

    until(probing, "the probe to be run")
    looking.terminate()
    looking.wait(timeout=DEADLINE)
    assert not probing()


def test_conditions_in_a_queue_that_nobody_serves_are_looked_at_by_nobody(cli: Cli) -> None:
    job = cli.run("add", "--queue", "nobodys", "--wait-file", ".", "--", "true").id
    cli.run("work", "--drain").check()
    (condition,) = cli.show(job)["conditions"]
    assert (condition["satisfied"], condition["observed_at"], owner(cli, job)) == (False, None, None)


@contextmanager
def halted(pid: int) -> Iterator[None]:
    """While this lasts, a process does not come to do anything."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_who_is_offered_slots_and_does_not_answer_holds_back_a_worker_for_a_while_only(cli: Cli) -> None:
    cli.run("limit", 1).check()
    holder = running(cli, "run", "holder")
    front = cli.run("run", "--priority", 9, "--", "true").id
    cli.wait_phase(front, "queued")
    supervisor = owner(cli, front)
    assert supervisor is not None
    behind = cli.run("add", "--", "true").id
    worker(cli)
    with halted(supervisor):
        let_go(cli, "holder")
        # Nothing is committed by anybody meanwhile: the worker has to ask again of its own accord.
        cli.run("wait", holder, behind).check()
        assert cli.phase(front) == "queued"
    cli.run("wait", front).check()

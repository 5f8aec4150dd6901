"""The highest priority goes first, over the whole range; equal ones are served as they came."""

from __future__ import annotations

from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli

SMALLEST, LARGEST = -(2**31), 2**31 - 1
PRIORITIES = [-1, 0, 1, 5, -5, SMALLEST, LARGEST, 0, 5, -5, LARGEST, SMALLEST, 1, -1]

NOTE = "echo $INTURN_JOB_ID >>order"


def in_order(ids: list[int]) -> list[int]:
    """From the largest priority down, equal ones in the order of their ids."""
    return [job for _, job in sorted(zip((-it for it in PRIORITIES), ids, strict=True))]


def order(cli: Cli) -> list[int]:
    return [int(line) for line in (cli.root / "order").read_text().splitlines()]


def test_a_worker_takes_the_largest_first_and_equal_ones_in_turn(cli: Cli) -> None:
    ids = [cli.run("add", "--priority", priority, "-c", NOTE).id for priority in PRIORITIES]
    cli.run("work", "--drain").check()
    assert order(cli) == in_order(ids)


def test_several_workers_under_a_ceiling_of_one_keep_to_the_order(cli: Cli) -> None:
    ids = [cli.run("add", "--priority", priority, "-c", NOTE).id for priority in PRIORITIES]
    workers = [cli.popen("work", "--slots", 1, "-j", 3, "--drain") for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert order(cli) == in_order(ids)


def test_supervised_jobs_get_the_slot_in_the_same_order(cli: Cli) -> None:
    cli.run("limit", 1).check()
    holder = cli.run("run", "-c", "until [ -e go ]; do sleep 0.05; done").id
    cli.wait_phase(holder, "running")
    ids = [cli.run("run", "--priority", priority, "-c", NOTE).id for priority in PRIORITIES]
    for job in ids:
        cli.wait_phase(job, "queued")
    (cli.root / "go").touch()
    cli.run("wait", *ids).check()
    assert order(cli) == in_order(ids)


def test_both_kinds_stand_in_one_line(cli: Cli) -> None:
    cli.run("limit", 1).check()
    holder = cli.run("run", "-c", "until [ -e go ]; do sleep 0.05; done").id
    cli.wait_phase(holder, "running")
    start_worker(cli)
    ids = [
        cli.run(("run", "add")[place % 2], "--priority", priority, "-c", NOTE).id
        for place, priority in enumerate(PRIORITIES)
    ]
    for job in ids:
        cli.wait_phase(job, "queued")
    (cli.root / "go").touch()
    cli.run("wait", *ids).check()
    assert order(cli) == in_order(ids)


def test_what_is_beyond_the_range_is_refused_and_nothing_is_stored(cli: Cli) -> None:
    for verb in ("add", "run"):
        for priority in (LARGEST + 1, SMALLEST - 1, "1e3", "1.0", "high", "", "0x1", "--1", 10**30):
            told = cli.run(verb, f"--priority={priority}", "--", "true").check(2)
            assert "--priority" in told.err.decode()
            assert not told.out
    assert cli.run("list", "--json").check().data == []


def test_the_ends_of_the_range_are_stored_as_they_are(cli: Cli) -> None:
    for priority in (SMALLEST, LARGEST):
        assert cli.show(cli.run("add", "--priority", priority, "--", "true").id)["priority"] == priority
    assert cli.show(cli.run("add", "--", "true").id)["priority"] == 0

"""Who may pass whom in line, seen from outside: with real supervisors, told by the ledger alone."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.e2e.harness import Cli

# Where the slots are asked for: a pool of four in a store without a limit, or the whole store.
SCOPES = pytest.mark.parametrize(
    ("limits", "scope"),
    [("pools: {line: 4}", ("--pool", "line")), ("max_active_slots: 4", ())],
    ids=["pool", "store"],
)


class Held:
    """A job that runs until the test lets it go."""

    def __init__(self, cli: Cli, name: str, *options: str) -> None:
        self._gate = cli.root / f"{name}-may-end"
        wait = f"until [ -e {shlex.quote(str(self._gate))} ]; do sleep 0.01; done"
        self.id = cli.run("run", *options, "-c", wait).id
        cli.wait_phase(self.id, "running")

    def let_go(self) -> None:
        self._gate.touch()


def limit(cli: Cli, limits: str) -> None:
    cli.configure(f"schema_version: 1\nconcurrency: {{{limits}}}\n")


def submit(cli: Cli, *options: str) -> int:
    return cli.run("run", *options, "--", "true").id


def ended(cli: Cli, *jobs: int) -> None:
    cli.run("wait", *jobs).check()


def ledger(cli: Cli) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = cli.run("events", "--json").check().data
    return events


def admitted(cli: Cli, *among: int) -> list[int]:
    """The jobs that got slots, in the order of the transactions that gave them."""
    return [event["job"] for event in ledger(cli) if event["kind"] == "admitted" and event["job"] in among]


def pass_everyone(cli: Cli, *scope: str) -> None:
    """Have urgent jobs use the free slots: each is admitted, and whoever waits has looked meanwhile."""
    for _ in range(3):
        ended(cli, submit(cli, *scope, "--priority", "1"))


@SCOPES
def test_three_small_requests_pass_a_large_one_and_then_it_is_its_turn(
    cli: Cli, limits: str, scope: tuple[str, ...]
) -> None:
    limit(cli, limits)
    first, second = Held(cli, "first", *scope), Held(cli, "second", *scope)
    large = submit(cli, *scope, "--slots", "3")
    cli.wait_phase(large, "queued")

    small = [submit(cli, *scope) for _ in range(6)]
    ended(cli, *small[:3])
    assert cli.show(large)["bypass_count"] == 3
    pass_everyone(cli, *scope)
    assert [cli.phase(job) for job in (large, *small[3:])] == ["queued"] * 4
    assert cli.show(large)["bypass_count"] == 3

    first.let_go()
    ended(cli, first.id, large, *small[3:])
    second.let_go()
    ended(cli, second.id)
    assert admitted(cli, large, *small)[:4] == [*small[:3], large]
    assert cli.show(large)["bypass_count"] == 0


@SCOPES
def test_slots_in_use_reach_the_limit_and_never_exceed_it(
    cli: Cli, limits: str, scope: tuple[str, ...]
) -> None:
    limit(cli, limits)
    held = Held(cli, "held", *scope)
    sizes = {submit(cli, *scope, "--slots", str(size)): size for size in (4, 1, 2, 3, 1, 2)}
    held.let_go()
    ended(cli, held.id, *sizes)
    sizes[held.id] = 1
    used, most = 0, 0
    for event in ledger(cli):
        used += sizes[event["job"]] * {"admitted": 1, "ended": -1}.get(event["kind"], 0)
        most = max(most, used)
    assert (used, most) == (0, 4)


def test_a_full_pool_holds_back_nobody_outside_it(cli: Cli) -> None:
    limit(cli, "max_active_slots: 4, pools: {narrow: 1, other: 2}")
    held = Held(cli, "held", "--pool", "narrow")
    stuck = [submit(cli, "--pool", "narrow") for _ in range(2)]
    for job in stuck:
        cli.wait_phase(job, "queued")

    free = [submit(cli) for _ in range(5)] + [submit(cli, "--pool", "other", "--slots", "2")]
    ended(cli, *free)
    # They stood before the others, but what they wait for is nothing that the others could have left to them.
    assert [cli.show(job)["bypass_count"] for job in stuck] == [0, 0]

    held.let_go()
    ended(cli, held.id, *stuck)
    assert admitted(cli, *stuck) == stuck


def test_a_higher_priority_goes_first_and_is_no_bypass(cli: Cli) -> None:
    limit(cli, "max_active_slots: 4")
    first, second = Held(cli, "first"), Held(cli, "second")
    large = submit(cli, "--slots", "3")
    cli.wait_phase(large, "queued")
    ended(cli, *[submit(cli, "--priority", "1") for _ in range(4)])
    assert cli.show(large)["bypass_count"] == 0
    for held in (first, second):
        held.let_go()
    ended(cli, first.id, second.id, large)


def test_only_the_oldest_of_those_passed_counts_it(cli: Cli) -> None:
    limit(cli, "max_active_slots: 4")
    first, second = Held(cli, "first"), Held(cli, "second")
    large = [submit(cli, "--slots", "3"), submit(cli, "--slots", "4")]
    for job in large:
        cli.wait_phase(job, "queued")
    ended(cli, submit(cli), submit(cli))
    assert [cli.show(job)["bypass_count"] for job in large] == [2, 0]
    for held in (first, second):
        held.let_go()
    ended(cli, first.id, second.id, *large)


def test_those_that_fit_are_admitted_in_the_order_of_the_line(cli: Cli) -> None:
    limit(cli, "max_active_slots: 1")
    held = Held(cli, "held")
    jobs = [submit(cli, "--priority", priority) for priority in ("0", "2", "1", "0", "2")]
    for job in jobs:
        cli.wait_phase(job, "queued")
    held.let_go()
    ended(cli, held.id, *jobs)
    assert admitted(cli, *jobs) == [jobs[at] for at in (1, 4, 2, 0, 3)]


def test_dependents_of_one_job_tie_whenever_they_have_noticed_its_end(cli: Cli) -> None:
    limit(cli, "max_active_slots: 2")
    parent = Held(cli, "parent")
    jobs = [submit(cli, "--after-success", str(parent.id)) for _ in range(4)]
    parent.let_go()
    ended(cli, parent.id, *jobs)
    assert {cli.show(job)["next_run_at"] for job in jobs} == {cli.show(parent.id)["completed_at"]}


def test_a_failed_attempt_to_be_admitted_leaves_the_place_in_line_as_it_is(cli: Cli) -> None:
    limit(cli, "max_active_slots: 2")
    held = Held(cli, "held")
    large, small = submit(cli, "--slots", "2"), submit(cli, "--priority", "-1", "--slots", "2")
    places = [cli.wait_phase(job, "queued")["next_run_at"] for job in (large, small)]
    pass_everyone(cli)
    held.let_go()
    ended(cli, held.id, large, small)
    assert [cli.show(job)["next_run_at"] for job in (large, small)] == places
    kinds = [event["kind"] for event in ledger(cli) if event["job"] == large]
    assert kinds == ["submitted", "accepted", "admitted", "started", "ended"]

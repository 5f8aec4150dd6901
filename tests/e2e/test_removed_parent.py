"""A dependency is on a job that exists, and who is depended on is not removed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.harness import DEADLINE, Cli


@pytest.fixture(params=["run", "add"])
def submit(request: pytest.FixtureRequest) -> str:
    """How a job is submitted; no worker serves it."""
    verb: str = request.param
    return verb


def jobs(cli: Cli) -> dict[int, dict[str, Any]]:
    return {job["id"]: job for job in cli.run("list", "--all", "--json").check().data}


def prune(cli: Cli) -> list[int]:
    """Remove everything that may be removed; returns the ids of what was."""
    return [int(line) for line in cli.run("prune", "--keep", 0, "--force").check().out.splitlines()]


def end(cli: Cli) -> int:
    """A job that has ended, with a supervisor of its own; returns its id."""
    return cli.run("run", "--wait", "--", "true").id


def test_a_dependency_on_an_unknown_job_is_refused_and_nothing_is_stored(cli: Cli, submit: str) -> None:
    for edge in ("--after-success", "--after-failed", "--after-finish", "--after-outcome"):
        for unknown in ("999999", "no-such-name", "no-such-name@latest"):
            whom = f"{unknown}=success" if edge == "--after-outcome" else unknown
            told = cli.run(submit, "--json", edge, whom, "--", "true").check(3)
            assert told.json["error"]["code"] == "not_found"
    assert jobs(cli) == {}


def test_an_unknown_job_in_a_file_leaves_nothing_of_the_file(cli: Cli, submit: str) -> None:
    lines = [{"command": ["true"]}, {"command": ["true"], "after_success": ["999999"]}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    cli.run(submit, "--from-file", "-", input=text).check(3)
    lines[1]["after_success"] = ["@nobody"]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    cli.run(submit, "--from-file", "-", input=text).check(2)
    assert jobs(cli) == {}


def test_a_dependency_on_a_removed_job_is_refused_and_nothing_is_stored(cli: Cli, submit: str) -> None:
    parent = end(cli)
    assert prune(cli) == [parent]
    cli.run(submit, "--after-success", parent, "--", "true").check(3)
    assert jobs(cli) == {}


def test_the_id_of_a_removed_job_is_never_given_again(cli: Cli, submit: str) -> None:
    parent = end(cli)
    assert prune(cli) == [parent]
    assert cli.run(submit, "--", "true").id > parent


@pytest.mark.parametrize(("command", "edge"), [("true", "--after-success"), ("false", "--after-failed")])
def test_a_parent_that_is_waited_for_stays_and_is_judged_by_how_it_really_ended(
    cli: Cli, submit: str, command: str, edge: str
) -> None:
    parent = cli.run("run", "--wait-file", "begin", "--wait-poll", "50ms", "--", command).id
    child = cli.run(submit, edge, parent, "--wait-file", "go", "--wait-poll", "50ms", "--", "true").id
    (cli.root / "begin").touch()
    cli.run("wait", parent)
    assert prune(cli) == []
    (cli.root / "go").touch()
    if submit == "add":
        start_worker(cli)
    cli.run("wait", child).check()
    assert cli.show(child)["dependencies"][0]["observed_outcome"] == cli.show(parent)["outcome"]
    assert sorted(prune(cli)) == [parent, child]


def test_a_parent_stays_while_an_unserved_queue_holds_its_dependent(cli: Cli) -> None:
    parent = end(cli)
    child = cli.run("add", "--queue", "nobody", "--after-success", parent, "--", "true").id
    assert prune(cli) == []
    assert set(jobs(cli)) == {parent, child}
    cli.run("work", "--queue", "nobody", "--drain").check()
    assert sorted(prune(cli)) == [parent, child]


def test_what_is_live_is_not_removed(cli: Cli, submit: str) -> None:
    job = cli.run(submit, "--wait-file", "never", "--", "true").id
    ended = end(cli)
    assert prune(cli) == [ended]
    assert set(jobs(cli)) == {job}


def test_without_force_it_is_only_shown_what_would_be_removed(cli: Cli) -> None:
    job = end(cli)
    assert cli.run("prune", "--keep", 0).check().out == f"{job}\n".encode()
    assert set(jobs(cli)) == {job}


def test_a_submission_that_races_with_a_removal_sees_its_parent_or_is_told_that_there_is_none(
    cli: Cli, verb: str
) -> None:
    parents = [end(cli) for _ in range(16)]
    adders = []
    pruners = []
    for place, parent in enumerate(parents):
        adders.append(cli.popen(verb, "--after-success", parent, "--", "true"))
        if place % 4 == 1:
            pruners.append(cli.popen("prune", "--keep", 0, "--force"))
    printed = [adder.communicate(timeout=DEADLINE) for adder in adders]
    for pruner in pruners:
        _, said = pruner.communicate(timeout=DEADLINE)
        assert pruner.returncode == 0, said
    assert {adder.returncode for adder in adders} <= {0, 3}, printed
    children = [int(line) for line, _ in printed if line]
    assert len(children) == sum(adder.returncode == 0 for adder in adders)
    left = set(jobs(cli))
    assert left <= {*parents, *children}
    # A child that has ended in the meantime may have been removed by a later pruner.
    for child in left & set(children):
        cli.run("wait", child).check()
    cli.run("prune", "--keep", 0, "--force").check()
    assert jobs(cli) == {}

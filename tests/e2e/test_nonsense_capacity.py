"""A capacity is a positive integer or `unlimited`; nonsense is refused, and no change stops what runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Cli

# As words of the command line, and as written in the file.
NONSENSE = ["0", "-1", "1e12", "", "1.5", "0x10", "four", "99999999999", "nan", "Unlimited"]
NONSENSE_IN_FILE = [
    "0",
    "-1",
    "1e12",
    '""',
    "1.5",
    "",
    "null",
    "four",
    '"4"',
    "99999999999",
    "[4]",
    "true",
    ".inf",
]

JOB = "until [ -e go ]; do sleep 0.05; done"


@pytest.fixture(params=["run", "add"])
def submit(request: pytest.FixtureRequest) -> str:
    """How a job is submitted; no worker serves it."""
    verb: str = request.param
    return verb


def capacities(cli: Cli) -> dict[str | None, int | None]:
    found = cli.run("pools", "--json").check().data
    return {scope["name"]: scope["slots"] for scope in (found["store"], *found["pools"])}


def store(cli: Cli) -> dict[str, Any]:
    found: dict[str, Any] = cli.run("pools", "--json").check().data["store"]
    return found


def assert_nothing_is_stored(cli: Cli) -> None:
    assert cli.run("list", "--all", "--json").check().data == []


def declaring(key: str, value: str) -> tuple[str, int]:
    """A configuration file with one capacity, and the line that it is in."""
    lines = ["schema_version: 1", "concurrency:"]
    lines += ["  " * depth + part + ":" for depth, part in enumerate(key.split("."), start=1)]
    return "\n".join(lines) + f" {value}\n", len(lines)


@pytest.mark.parametrize("key", ["max_active_slots", "pools.analysis", "pools.analysis.slots"])
def test_nonsense_in_the_file_is_refused_with_its_file_line_and_path(cli: Cli, key: str) -> None:
    for place, value in enumerate(NONSENSE_IN_FILE):
        text, line = declaring(key, value)
        cli.configure(text)
        told = cli.run(("run", "add")[place % 2], "--", "true").check(2)
        assert f"{cli.config}:{line}: concurrency.{key}: " in told.err.decode(), value
        assert not told.out
    for words in ("config apply", "config validate"):
        assert f"{cli.config}:{line}: concurrency.{key}: " in cli.run(*words.split()).check(2).err.decode()
    assert_nothing_is_stored(cli)
    assert capacities(cli) == {None: None}


def test_nonsense_on_the_command_line_is_refused(cli: Cli) -> None:
    for value in NONSENSE:
        cli.run("limit", value).check(2)
        cli.run("pools", "set", "analysis", value).check(2)
    assert set(capacities(cli).values()) == {None}
    assert "analysis" not in capacities(cli)


def test_nonsense_as_a_request_is_refused_and_nothing_is_stored(cli: Cli, submit: str) -> None:
    for value in [*NONSENSE, "unlimited"]:
        told = cli.run(submit, "--slots", value, "--", "true").check(2)
        assert "--slots" in told.err.decode()
        assert not told.out
    assert_nothing_is_stored(cli)


def test_unlimited_is_a_capacity(cli: Cli, submit: str) -> None:
    cli.configure(
        "schema_version: 1\nconcurrency: {max_active_slots: unlimited, pools: {analysis: unlimited}}\n"
    )
    cli.run(submit, "--pool", "analysis", "--slots", 2**31 - 1, "--", "true").check()
    assert capacities(cli) == {None: None, "analysis": None}


def test_a_limit_can_be_lifted_again(cli: Cli) -> None:
    for value, capacity in ("3", 3), ("unlimited", None), (str(2**31 - 1), 2**31 - 1):
        cli.run("limit", value).check()
        cli.run("pools", "set", "analysis", value).check()
        assert capacities(cli) == {None: capacity, "analysis": capacity}


@pytest.mark.parametrize("scope", ["", "analysis"])
def test_a_request_larger_than_its_scope_is_refused_at_submission(cli: Cli, submit: str, scope: str) -> None:
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 4, pools: {analysis: 2, wide: 9}}\n")
    if scope:
        told = cli.run(submit, "--pool", scope, "--slots", 3, "--", "true").check(2)
        assert "analysis" in told.err.decode()
    else:
        # The pool would have them, the store has not.
        cli.run(submit, "--pool", "wide", "--slots", 5, "--", "true").check(2)
        told = cli.run(submit, "--slots", 5, "--", "true").check(2)
    assert (
        cli.run(submit, "--json", "--slots", 5, "--", "true").check(2).json["error"]["code"] == "impossible"
    )
    assert_nothing_is_stored(cli)
    cli.run(submit, *(["--pool", scope] if scope else []), "--slots", 2 if scope else 4, "--", "true").check()


def test_an_unknown_pool_is_refused_and_nothing_is_stored(cli: Cli, submit: str) -> None:
    told = cli.run(submit, "--json", "--pool", "analyses", "--", "true").check(2)
    assert told.json["error"]["code"] == "unknown_pool"
    assert_nothing_is_stored(cli)


def test_an_impossible_request_among_many_leaves_nothing_of_them(
    cli: Cli, submit: str, tmp_path: Path
) -> None:
    cli.run("limit", 2).check()
    lines = tmp_path / "jobs.jsonl"
    lines.write_text('{"command": ["true"]}\n{"command": ["true"], "slots": 3}\n')
    told = cli.run(submit, "--from-file", str(lines)).check(2)
    assert f"{lines}:2: " in told.err.decode()
    assert not told.out
    assert_nothing_is_stored(cli)


@pytest.mark.parametrize("place", ["the store", "the file"])
def test_lowering_below_what_is_in_use_stops_nothing_and_admits_nothing_more(
    cli: Cli, verb: str, place: str
) -> None:
    def limit(slots: int) -> None:
        if place == "the store":
            cli.run("limit", slots).check()
        else:
            cli.configure(declaring("max_active_slots", str(slots))[0])
            cli.run("config", "apply").check()

    limit(3)
    running = [cli.run(verb, "-c", JOB).id for _ in range(3)]
    for job in running:
        cli.wait_phase(job, "running")
    limit(1)
    queued = cli.run(verb, "-c", "true").id
    assert (store(cli)["used"], store(cli)["slots"]) == (3, 1)
    cli.run("cancel", running[0]).check()
    cli.run("wait", running[0]).check(6)
    # Two are in use, and there is room for one: the queued job has to let the next one go by.
    cli.wait_phase(queued, "queued")
    assert [cli.phase(job) for job in running[1:]] == ["running", "running"]
    (cli.root / "go").touch()
    cli.run("wait", queued, *running[1:]).check()
    ends = [cli.show(job)["completed_at"] for job in running[1:]]
    assert cli.show(queued)["started_at"] >= max(ends)


def test_a_queued_request_that_has_become_too_large_waits_lets_others_by_and_says_so(
    cli: Cli, verb: str
) -> None:
    cli.run("limit", 2).check()
    holder = cli.run(verb, "--slots", 2, "-c", JOB).id
    cli.wait_phase(holder, "running")
    wide = cli.run(verb, "--slots", 2, "--", "true").id
    cli.wait_phase(wide, "queued")
    cli.run("limit", 1).check()
    (cli.root / "go").touch()
    cli.run("wait", holder).check()
    cli.run(verb, "--wait", "--", "true").check()
    assert cli.phase(wide) == "queued"
    assert "2" in cli.run("why", wide).check().text
    cli.run("limit", 2).check()
    cli.run("wait", wide).check()

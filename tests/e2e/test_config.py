from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Cli, until

FOUR_AND_TWO = """\
schema_version: 1
concurrency:
  max_active_slots: 4
  pools:
    analysis: 2
defaults:
  retries: 1
"""


def settings(cli: Cli, *options: str, env: dict[str, str | None] | None = None) -> dict[str, tuple[Any, str]]:
    """Value and origin of each setting, by its name."""
    found = cli.run("config", "show", "--json", *options, env=env).check().data["settings"]
    return {one["name"]: (one["value"], one["origin"]) for one in found}


def pools(cli: Cli) -> dict[str, Any]:
    """The size of each pool, by its name."""
    found = cli.run("pools", "--json").check().data["pools"]
    return {pool["name"]: pool["slots"] for pool in found}


# --- path


def test_the_path_is_printed_alone_whether_the_file_is_there_or_not(cli: Cli) -> None:
    assert cli.run("config", "path").check().text == f"{cli.config}\n"
    named = cli.run("--config", "named.yml", "config", "path", "--json").check().data
    assert named == {"path": str(cli.root / "named.yml"), "origin": "--config"}
    env: dict[str, str | None] = {"INTURN_CONFIG": "/etc/inturn.yml"}
    assert cli.run("config", "path", env=env).check().text == "/etc/inturn.yml\n"


# --- show


def test_without_anything_the_defaults_are_in_force_and_nothing_is_created(cli: Cli) -> None:
    assert settings(cli, env={"INTURN_DIR": None}) == {
        "store": (str(cli.root / "state" / "inturn"), "default"),
        "configuration": (str(cli.config), "default"),
        "concurrency.max_active_slots": ("unlimited", "default"),
        "polling.looks_per_second": (10, "default"),
    }
    assert not (cli.root / "state").exists()


def test_each_setting_says_where_it_came_from(cli: Cli) -> None:
    cli.configure(FOUR_AND_TWO)
    cli.run("config", "apply").check()
    cli.run("pools", "set", "disk", "7").check()
    assert settings(cli) == {
        "store": (str(cli.store), "INTURN_DIR"),
        "configuration": (str(cli.config), "default"),
        "concurrency.max_active_slots": (4, str(cli.config)),
        "concurrency.pools.analysis": (2, str(cli.config)),
        "concurrency.pools.disk": (7, "command"),
        "polling.looks_per_second": (10, "default"),
        "defaults.retries": (1, str(cli.config)),
    }
    named = settings(cli, "--dir", str(cli.root / "other"), "--config", str(cli.config))
    assert named["store"] == (str(cli.root / "other"), "--dir")
    assert named["configuration"] == (str(cli.config), "--config")
    assert settings(cli, env={"INTURN_CONFIG": str(cli.config)})["configuration"][1] == "INTURN_CONFIG"


def test_a_file_that_is_not_there_is_shown_as_such(cli: Cli) -> None:
    assert f"configuration\t{cli.config} (not there)\tdefault\n" in cli.run("config", "show").check().text
    assert settings(cli)["configuration"] == (str(cli.config), "default")
    cli.configure("schema_version: 1\n")
    assert "(not there)" not in cli.run("config", "show").check().text


def test_how_often_all_look_is_shown_checked_and_applied(cli: Cli) -> None:
    cli.configure("schema_version: 1\npolling: {looks_per_second: 40}\n")
    shown = cli.run("config", "show", "--json").check().data
    assert shown["pending"] == [{"setting": "polling.looks_per_second", "before": 10, "after": 40}]
    assert cli.run("config", "validate", "--json").check().data["looks_per_second"] == 40
    assert cli.run("config", "apply").check().text == "looks per second: 10 -> 40\n"
    assert settings(cli)["polling.looks_per_second"] == (40, str(cli.config))
    assert cli.run("config", "apply").check().text == "nothing had to be changed\n"


def test_plain_lines_have_three_columns(cli: Cli) -> None:
    cli.configure(FOUR_AND_TWO)
    cli.run("config", "apply").check()
    shown = cli.run("config", "show").check()
    lines = [line.split("\t") for line in shown.text.splitlines()]
    assert all(len(columns) == 3 for columns in lines)
    assert ["concurrency.pools.analysis", "2", str(cli.config)] in lines
    assert not shown.err


@pytest.mark.parametrize(
    ("before", "standing", "said"),
    [("", "new", "has not been applied yet"), ("schema_version: 1\n", "changed", "has changed since")],
)
def test_what_a_file_would_still_change_is_shown_and_not_done(
    cli: Cli, before: str, standing: str, said: str
) -> None:
    if before:
        cli.configure(before)
        cli.run("config", "apply").check()
    cli.configure(FOUR_AND_TWO)
    shown = cli.run("config", "show", "--json").check()
    assert shown.data["standing"] == standing
    assert [change["pool"] for change in shown.data["pending"]] == ["analysis", None]
    assert said in shown.err.decode()
    assert "pending\tpool analysis: none -> 2\t\n" in cli.run("config", "show").text
    assert "pending\tlimit: unlimited -> 4\t\n" in cli.run("config", "show").text
    assert pools(cli) == {}


def test_another_file_is_shown_to_need_applying(cli: Cli) -> None:
    cli.configure(FOUR_AND_TWO)
    cli.run("config", "apply").check()
    other = cli.root / "other.yml"
    other.write_text("schema_version: 1\nconcurrency: {pools: {gpu: {devices: [0, 1]}}}\n")
    shown = cli.run("--config", str(other), "config", "show", "--json").check()
    assert shown.data["standing"] == "other"
    assert "is not the file last applied" in shown.err.decode()
    cli.run("--config", str(other), "config", "apply").check()
    value, origin = settings(cli, "--config", str(other))["concurrency.pools.gpu"]
    assert (value["slots"], value["devices"], origin) == (2, ["0", "1"], str(other))


def test_a_file_that_says_unlimited_decides_that_and_says_so(cli: Cli) -> None:
    cli.run("limit", 1).check()
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: unlimited}\n")
    assert "pending\tlimit: 1 -> unlimited\t\n" in cli.run("config", "show").check().text
    assert cli.run("config", "apply").check().text == "limit: 1 -> unlimited\n"
    assert settings(cli)["concurrency.max_active_slots"] == ("unlimited", str(cli.config))
    refused = cli.run("limit", 1).check(5)
    assert f"declared in {cli.config}" in refused.err.decode()
    cli.configure("schema_version: 1\n")
    assert cli.run("config", "apply").check().text == "limit: unlimited, no longer declared by the file\n"
    assert cli.run("limit", 1).check().text == "1\n"


# --- validate


def test_a_valid_file_is_valid_and_nothing_is_written(cli: Cli) -> None:
    cli.configure(FOUR_AND_TWO)
    assert cli.run("config", "validate").check().text == f"{cli.config}\tvalid\n"
    found = cli.run("config", "validate", "--json").check().data
    assert found["valid"] is True
    assert found["max_active_slots"] == 4
    assert found["pools"] == [{"name": "analysis", "slots": 2}]
    assert found["defaults"] == {"retries": 1}
    assert not cli.store.exists()


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("schema_version: 1\nconcurrency:\n  pools:\n    analysis: 0\n", ":4: concurrency.pools.analysis: "),
        ("schema_version: 1\nconcurrency: {max_active_slots: 1e12}\n", ":2: concurrency.max_active_slots: "),
        ("schema_version: 1\ndefaults:\n  retry_delay: soon\n", ":3: defaults.retry_delay: "),
        ("schema_version: 1\nconcurency: {}\n", ":2: concurency: unknown key"),
        ("schema_version: 2\n", ":1: schema_version: "),
        ("a: [\n", ": not valid YAML"),
        ("", ":1: the file is empty"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_path(
    cli: Cli, tmp_path: Path, yaml: str, said: str
) -> None:
    file = tmp_path / "wrong.yml"
    file.write_text(yaml)
    refused = cli.run("config", "validate", "wrong.yml").check(2)
    assert refused.err.decode().startswith(f"inturn: {file}:")
    assert said in refused.err.decode()
    assert not refused.out
    document = cli.run("config", "validate", "wrong.yml", "--json").check(2).json
    assert document["error"]["code"] == "config_invalid"
    assert said in document["error"]["message"]

    cli.run("--config", "wrong.yml", "config", "apply").check(2)
    cli.run("--config", "wrong.yml", "config", "show").check(2)
    assert not cli.store.exists(), "a file that is wrong creates no store"


def test_a_file_that_is_not_there_cannot_be_valid(cli: Cli) -> None:
    assert "there is no such file" in cli.run("config", "validate", "none.yml").check(2).err.decode()
    cli.run("config", "validate").check(2)
    cli.run("config", "validate", "").check(2)


def test_only_validate_takes_a_file(cli: Cli) -> None:
    for action in ("show", "apply", "path"):
        assert f"inturn --config FILE config {action}" in cli.run("config", action, "x").check(2).err.decode()
    cli.run("config").check(2)
    cli.run("config", "edit").check(2)


# --- apply


def test_applying_prints_the_changes_and_then_nothing_is_left_to_change(cli: Cli) -> None:
    cli.configure(FOUR_AND_TWO)
    done = cli.run("config", "apply").check().text.splitlines()
    assert done == ["pool analysis: none -> 2", "limit: unlimited -> 4"]
    assert pools(cli) == {"analysis": 2}
    assert cli.run("config", "apply").check().text == "nothing had to be changed\n"
    cli.configure("schema_version: 1\nconcurrency: {pools: {analysis: unlimited}}\n")
    changes = cli.run("config", "apply", "--json").check().data["changes"]
    assert changes == [
        {"pool": None, "before": {"name": None, "slots": 4}, "after": None},
        {
            "pool": "analysis",
            "before": {"name": "analysis", "slots": 2},
            "after": {"name": "analysis", "slots": None},
        },
    ]


def test_applying_without_a_file_is_refused(cli: Cli) -> None:
    assert "there is no such file" in cli.run("config", "apply").check(2).err.decode()


# --- and what follows for jobs


def test_a_submission_takes_the_defaults_of_the_file_and_an_option_outweighs_them(cli: Cli) -> None:
    cli.configure(FOUR_AND_TWO + "  priority: 5\n")
    assert cli.show(cli.run("run", "--", "true").id)["priority"] == 5
    assert cli.show(cli.run("run", "--priority", "2", "--", "true").id)["priority"] == 2


def test_a_submission_under_an_invalid_file_is_refused_and_stores_nothing(cli: Cli) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {analysis: -1}}\n")
    refused = cli.run("run", "--pool", "analysis", "--", "true").check(2)
    assert f"{cli.config}:2: concurrency.pools.analysis: " in refused.err.decode()
    assert cli.run("list", "--json").check().data == []


def test_raising_a_limit_lets_the_next_in_line_start_while_the_first_one_runs(cli: Cli) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {analysis: 1}}\n")
    first, second = (cli.run("run", "--pool", "analysis", "--", "sleep", "300").id for _ in range(2))
    cli.wait_phase(first, "running")
    cli.wait_phase(second, "queued")
    cli.configure("schema_version: 1\nconcurrency: {pools: {analysis: 2}}\n")
    cli.run("config", "apply").check()
    cli.wait_phase(second, "running")
    assert cli.phase(first) == "running"


def test_lowering_a_limit_stops_nothing_and_lets_nobody_in_until_there_is_room(cli: Cli) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {analysis: 2}}\n")
    ids = [cli.run("run", "--pool", "analysis", "--", "sleep", "300").id for _ in range(3)]
    for running in ids[:2]:
        cli.wait_phase(running, "running")
    cli.configure("schema_version: 1\nconcurrency: {pools: {analysis: 1}}\n")
    # It is a submission that applies it this time.
    other = cli.run("run", "--", "true").id
    until(lambda: cli.phase(other) == "completed", "the end of a job outside the pool")
    assert [cli.phase(job) for job in ids] == ["running", "running", "queued"]
    cli.run("cancel", ids[0]).check()
    until(lambda: cli.phase(ids[0]) == "completed", "the end of the first job")
    assert [cli.phase(job) for job in ids[1:]] == ["running", "queued"]
    cli.run("cancel", ids[1]).check()
    cli.wait_phase(ids[2], "running")


def test_a_pool_that_live_jobs_name_cannot_be_applied_away(cli: Cli) -> None:
    cli.configure(FOUR_AND_TWO)
    job = cli.run("run", "--pool", "analysis", "--", "sleep", "300").id
    cli.wait_phase(job, "running")
    cli.configure("schema_version: 1\n")
    refused = cli.run("config", "apply", "--json").check(5)
    assert refused.json["error"]["code"] == "conflict"
    warned = cli.run("run", "--pool", "analysis", "--", "true").check()
    assert "it is kept as it was" in warned.err.decode()
    assert pools(cli) == {"analysis": 2}

    cli.run("cancel", job).check()
    until(lambda: cli.phase(warned.id) == cli.phase(job) == "completed", "the end of both jobs")
    assert cli.run("config", "apply").check().text == "pool analysis: 2 -> none\n"

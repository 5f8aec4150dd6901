"""`inturn demo` runs a pipeline for real, and proves from the ledger alone that it went as promised."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Cli, Result, until
from tests.e2e.terminal import at_a_terminal

CLAIMS = (
    "never more than 2 slots of pool analysis in use",
    "never more than 4 slots of the whole store in use",
    'what depends on job 1 ("prepare_data") started only after its success',
    "no slot was held between a failed run and the next one",
    "every job succeeded",
)
OWN_STORE = {"INTURN_DIR": None}


def directory_of(out: str) -> Path:
    """The working directory that a demonstration has told."""
    return Path(out.splitlines()[0].removeprefix("Working directory: ").strip())


@pytest.fixture(scope="module")
def performed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cli, Result]]:
    """One demonstration in a pipe, with a store of its own, and a command line bound to that store."""
    cli = Cli(tmp_path_factory.mktemp("demo"))
    result = cli.run("demo", env={**OWN_STORE, "TMPDIR": str(cli.root)})
    assert not cli.store.exists()
    cli.store = directory_of(result.text) / "store"
    left = cli.processes()
    yield cli, result
    cli.end_everything()
    assert not left, "a demonstration leaves no process behind"


def test_every_claim_is_told_and_holds(performed: tuple[Cli, Result]) -> None:
    _, result = performed
    lines = result.check(0).text.splitlines()
    assert [line for line in lines if line.startswith(("yes", "NO"))] == [f"yes  {claim}" for claim in CLAIMS]
    assert not result.err


def test_it_fits_into_80_columns(performed: tuple[Cli, Result]) -> None:
    cli, result = performed
    wide = [line for line in result.text.splitlines() if len(line) > 80]
    assert not [line for line in wide if str(cli.root) not in line], "paths are as long as they are"


def test_it_shows_the_commands_of_the_article_as_it_runs_them(performed: tuple[Cli, Result]) -> None:
    _, result = performed
    told = result.text.replace(" \\\n   ", "").splitlines()
    place = told.index("$ inturn run --name prepare_data -- python prepare_data.py")
    assert told[place + 1] == "1"
    for shard in (1, 2, 3, 4):
        place = told.index(
            "$ inturn run --after-success prepare_data --pool analysis --slots 1 --retries 2"
            f" --retryable-exit-code 1 --retry-delay 1s -- python analyze_data.py --shard {shard}"
        )
        assert told[place + 1] == str(shard + 1)


def test_everything_is_kept_in_the_directory_that_it_names(performed: tuple[Cli, Result]) -> None:
    cli, result = performed
    directory = directory_of(result.text)
    assert directory.parent == cli.root
    assert directory.stat().st_mode & 0o077 == 0
    assert result.text.splitlines()[-1].strip() == f"inturn --dir {cli.store} list"
    data = [int(line) for line in (directory / "data.csv").read_text().splitlines()[1:]]
    results = [json.loads((directory / f"result-{shard}.json").read_text()) for shard in (1, 2, 3, 4)]
    assert len(data) == 20_000 == sum(one["count"] for one in results)
    assert sum(data) == sum(one["sum"] for one in results)


def test_neither_the_store_nor_the_configuration_of_the_user_is_touched(
    performed: tuple[Cli, Result],
) -> None:
    cli, _ = performed
    assert not (cli.root / "state").exists()
    assert not (cli.root / "config").exists()


def test_the_flaky_shard_ran_twice_and_the_others_once(performed: tuple[Cli, Result]) -> None:
    cli, _ = performed
    assert [len(cli.show(job)["runs"]) for job in (1, 2, 3, 4, 5)] == [1, 1, 1, 2, 1]
    assert [run["exit_code"] for run in cli.show(4)["runs"]] == [1, 0]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cli, Result, Result]]:
    """Two demonstrations in one store that was named: the first with --json, the second in a pipe."""
    cli = Cli(tmp_path_factory.mktemp("demo"))
    environment = {**OWN_STORE, "TMPDIR": str(cli.root)}
    first, second = (
        cli.run("--dir", str(cli.store), "demo", *words, env=environment) for words in (["--json"], [])
    )
    left = cli.processes()
    yield cli, first, second
    cli.end_everything()
    assert not left, "a demonstration leaves no process behind"


def test_json_has_all_from_which_the_claims_can_be_checked(repeated: tuple[Cli, Result, Result]) -> None:
    cli, result, _ = repeated
    found = result.check(0).data
    assert found["holds"] is True
    assert found["store"] == str(cli.store)
    assert [claim["claim"] for claim in found["claims"]] == list(CLAIMS)
    assert all(claim["holds"] and claim["evidence"] for claim in found["claims"])
    assert found["commands"][0] == "inturn run --name prepare_data -- python prepare_data.py"
    assert len(found["commands"]) == 5
    assert [job["outcome"] for job in found["jobs"]] == ["success"] * 5
    assert _most_at_once(found["events"], {2, 3, 4, 5}) == 2


def _most_at_once(events: list[dict[str, Any]], jobs: set[int]) -> int:
    active: set[int] = set()
    most = 0
    for event in sorted(events, key=lambda event: int(event["id"])):
        if event["job"] in jobs:
            held = event["to"] in ("starting", "running", "stopping")
            (active.add if held else active.discard)(event["job"])
            most = max(most, len(active))
    return most


def test_a_store_that_has_seen_a_demonstration_can_see_another(repeated: tuple[Cli, Result, Result]) -> None:
    _, _, second = repeated
    second.check(0)
    assert 'what depends on job 6 ("prepare_data") started only after its success' in second.text
    assert "--after-success 6 " in second.text, "the name alone would be ambiguous"
    assert not second.err


def test_a_store_that_goes_by_another_file_is_left_alone(cli: Cli) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {gpu: 1}}\n")
    cli.run("config", "apply").check(0)
    refused = cli.run("demo", "--json", env={"TMPDIR": str(cli.root)}).check(5)
    assert refused.json["error"]["code"] == "conflict"
    assert str(cli.config) in refused.json["error"]["message"]
    assert cli.run("list", "--json").data == []
    assert [pool["name"] for pool in cli.run("pools", "--json").data["pools"]] == ["gpu"]


def test_a_person_at_a_terminal_sees_it_grow_and_gets_the_same_verdict(cli: Cli) -> None:
    shown = (
        at_a_terminal(cli, "demo", columns=80, env={"TERM": "xterm", "TMPDIR": str(cli.root)}).check().text
    )
    assert shown.count("analyze_data.py --shard 4  ") > 2, "the table is drawn again and again"
    assert "\x1b[" in shown
    for claim in CLAIMS:
        assert f"yes  {claim}" in shown


def test_a_claim_that_does_not_hold_is_named_and_is_the_exit_code(cli: Cli) -> None:
    process = cli.popen("demo", env={"TMPDIR": str(cli.root)})
    until(lambda: cli.run("show", 5, "--json").code == 0, "the last shard")
    cli.run("cancel", 5).check()
    out, err = (stream.decode() for stream in process.communicate(timeout=60))
    assert process.returncode == 1
    assert "the ledger does not prove that every job succeeded: job 5: cancelled" in err
    assert "NO   every job succeeded" in out.splitlines()
    assert f"yes  {CLAIMS[0]}" in out.splitlines()


def test_an_interrupt_cancels_what_was_submitted(cli: Cli) -> None:
    process = cli.popen("demo", env={"TMPDIR": str(cli.root)}, start_new_session=True)
    assert process.stdout is not None
    for line in process.stdout:
        if b"starting -> running" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    jobs = until(
        lambda: _all_ended(cli.run("list", "--all", "--json").data), "the end of everything submitted"
    )
    assert {job["outcome"] for job in jobs} <= {"cancelled", "success"}
    assert "cancelled" in {job["outcome"] for job in jobs}
    until(lambda: not cli.processes(), "the end of all processes")


def _all_ended(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return jobs if all(job["phase"] == "completed" for job in jobs) else []

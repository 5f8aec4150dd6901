"""The verbs that look: list, status, show, why, events, pools, limit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inturn.cli.main import main
from inturn.store import settings
from inturn.store.settings import Pool
from tests.service.scene import Scene

_DEADLINE = 30.0  # seconds


class Looker:
    """The command line, asked inside this process."""

    def __init__(self, scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
        self.scene = scene
        self._capsys = capsys

    def ask(self, *words: str, code: int = 0) -> str:
        """What a command prints on standard output; it must end with this exit code."""
        self._capsys.readouterr()
        found = main(["--dir", str(self.scene.directory), *words])
        printed = self._capsys.readouterr()
        assert found == code, printed
        return printed.out

    def rows(self, *words: str) -> list[list[str]]:
        """The lines of a command, taken apart."""
        return [line.split("\t") for line in self.ask(*words).splitlines()]

    def data(self, *words: str) -> Any:
        """What a command says to a program."""
        return json.loads(self.ask(*words, "--json"))["data"]

    def error(self, *words: str, code: int) -> dict[str, str]:
        """How a command fails, for a program."""
        error: dict[str, str] = json.loads(self.ask(*words, "--json", code=code))["error"]
        return error


@pytest.fixture
def looker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Looker]:
    scene = Scene(tmp_path / "store")
    yield Looker(scene, capsys)
    scene.close()


def test_a_listing_has_the_newest_fifty_unless_all_or_a_number_is_asked_for(looker: Looker) -> None:
    ids = [str(looker.scene.submit()) for _ in range(53)]
    assert [row[0] for row in looker.rows("list")] == ids[:2:-1]
    assert [row[0] for row in looker.rows("ls", "--all")] == ids[::-1]
    assert [row[0] for row in looker.rows("list", "--limit", "2")] == ids[:50:-1]
    assert len(looker.rows("list", "--limit", "unlimited")) == 53


def test_a_listing_is_filtered(looker: Looker) -> None:
    one, two = looker.scene.submit("one"), looker.scene.submit("two")
    looker.scene.succeed(two)
    assert [row[0] for row in looker.rows("list", "--status", "success", "--status", "queued")] == [
        str(two),
        str(one),
    ]
    assert [row[0] for row in looker.rows("list", "--status", "live", "--name", "one")] == [str(one)]
    assert looker.rows("list", "--tag", "project=x") == []


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--status", "done"),
        ("list", "--limit", "0"),
        ("list", "--limit", "x"),
        ("list", "--tag", "=x"),
        ("list", "--array", "x"),
        ("list", "--all", "--limit", "3"),
        ("events", "--since", "-1"),
        ("show",),
        ("pools", "set", "p"),
        ("pools", "set", "p", "0"),
        ("pools", "remove"),
        ("pools", "raise", "p", "1"),
        ("limit", "0"),
    ],
)
def test_nonsense_is_a_usage_error(looker: Looker, words: tuple[str, ...]) -> None:
    looker.error(*words, code=2)


def test_a_listing_and_a_description_show_the_same_job(looker: Looker) -> None:
    job = looker.scene.submit("x")
    (listed,) = looker.data("list")
    shown = looker.data("show", str(job))
    shown["owner"].pop("life")
    assert {key: shown[key] for key in listed} == listed
    assert {"spec", "events", "reasons", "dependents", "admission"} <= set(shown) - set(listed)


def test_totals_have_the_promised_keys(looker: Looker) -> None:
    looker.scene.succeed(looker.scene.submit())
    looker.scene.submit()
    totals = looker.data("status")
    assert (totals["queued"], totals["success"], totals["failure"]) == (1, 1, 0)
    promised = "queued scheduled waiting running paused success failure timed_out cancelled aborted lost"
    assert {*promised.split(), "submission_failed", "queues", "pools"} <= set(totals)
    assert ["queued", "1"] in looker.rows("status")


def test_status_of_some_jobs_is_a_line_each_in_their_order(looker: Looker) -> None:
    one, two = looker.scene.submit("one"), looker.scene.submit("two")
    assert [row[0] for row in looker.rows("status", "two", str(one))] == [str(two), str(one)]
    assert [job["id"] for job in looker.data("status", "two", "one")] == [two, one]


@pytest.mark.parametrize(
    "words", [("show", "7"), ("why", "7"), ("status", "7"), ("events", "--job", "7"), ("show", "x@latest")]
)
def test_a_job_that_is_not_there_is_error_3(looker: Looker, words: tuple[str, ...]) -> None:
    assert looker.error(*words, code=3)["code"] == "not_found"


def test_a_name_that_means_several_jobs_is_error_4_with_the_candidates(looker: Looker) -> None:
    ids = [looker.scene.submit("x") for _ in range(2)]
    error = looker.error("why", "x", code=4)
    assert error["code"] == "ambiguous"
    assert all(f"{job} (queued)" in error["message"] for job in ids)


def test_why_and_show_give_the_same_reasons(looker: Looker) -> None:
    job = looker.scene.submit()
    why = looker.data("why", str(job))
    assert (why["id"], why["status"]) == (job, "queued")
    assert [reason["code"] for reason in why["reasons"]] == [
        reason["code"] for reason in looker.data("show", str(job))["reasons"]
    ]
    assert [row[1] for row in looker.rows("why", str(job))] == [reason["code"] for reason in why["reasons"]]


def test_show_hides_the_values_of_the_environment_unless_asked(looker: Looker) -> None:
    job = str(looker.scene.submit())
    assert "environment_values" not in looker.data("show", job)["spec"]
    assert looker.data("show", job, "--env-values")["spec"]["environment_values"] == {}


def test_events_are_one_list_and_can_be_narrowed(looker: Looker) -> None:
    one, two = looker.scene.submit(), looker.scene.submit()
    events = looker.data("events")
    assert [(event["job"], event["from"], event["to"]) for event in events] == [
        (one, None, "submitting"),
        (one, "submitting", "queued"),
        (two, None, "submitting"),
        (two, "submitting", "queued"),
    ]
    assert looker.data("events", "--since", str(events[2]["id"])) == events[3:]
    assert looker.data("events", "--job", str(one)) == events[:2]
    assert [row[0] for row in looker.rows("events")] == [str(event["id"]) for event in events]


def test_pools_are_set_shown_and_removed(looker: Looker) -> None:
    assert looker.rows("pools", "set", "analysis", "2")[1][:4] == ["analysis", "2", "0", "2"]
    assert looker.data("pools")["pools"][0]["slots"] == 2
    assert looker.data("pools", "set", "analysis", "unlimited")["pools"][0]["slots"] is None
    assert looker.data("pools", "remove", "analysis") == looker.data("pools")
    assert looker.data("pools")["pools"] == []
    assert looker.error("pools", "remove", "analysis", code=2)["code"] == "unknown_pool"


def test_the_limit_of_the_store_is_shown_and_changed(looker: Looker) -> None:
    assert looker.ask("limit") == "unlimited\n"
    assert looker.data("limit", "3")["slots"] == 3
    assert looker.ask("limit") == "3\n"
    assert looker.ask("limit", "unlimited") == "unlimited\n"


def test_a_declared_pool_is_a_conflict(looker: Looker) -> None:
    with looker.scene.store.writing():
        settings.set_pool(looker.scene.store, Pool("p", 1, True))
    assert looker.error("pools", "set", "p", "2", code=5)["code"] == "conflict"


@pytest.mark.parametrize("words", [("list",), ("status",), ("events",), ("pools",), ("why", "1")])
def test_looking_creates_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    nowhere = tmp_path / "nowhere"
    main(["--dir", str(nowhere), *words, "--json"])
    assert "schema_version" in json.loads(capsys.readouterr().out)
    assert not nowhere.exists()


def test_a_pool_may_be_set_before_the_first_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dir", str(tmp_path / "new"), "pools", "set", "p", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["pools"][0]["name"] == "p"


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`events --follow --json` on a store that does not exist yet."""
    command = [
        sys.executable,
        "-m",
        "inturn",
        "--dir",
        str(tmp_path / "store"),
        "events",
        "--follow",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        yield process
        if process.poll() is None:
            process.kill()


def _ended(process: subprocess.Popen[bytes]) -> int:
    return process.wait(timeout=_DEADLINE)


def test_a_follower_tells_each_event_as_it_comes_from_the_first_on(
    tmp_path: Path, follower: subprocess.Popen[bytes]
) -> None:
    scene = Scene(tmp_path / "store")
    job = scene.submit()
    assert follower.stdout is not None
    seen = [json.loads(follower.stdout.readline()) for _ in range(2)]
    scene.succeed(job)
    seen += [json.loads(follower.stdout.readline()) for _ in range(3)]
    assert [event["to"] for event in seen] == ["submitting", "queued", "starting", "running", "completed"]
    assert {event["job"] for event in seen} == {job}
    follower.send_signal(signal.SIGINT)
    assert _ended(follower) == 128 + signal.SIGINT
    scene.close()


def test_a_follower_whose_reader_has_gone_ends_without_waiting_for_an_event(
    tmp_path: Path, follower: subprocess.Popen[bytes]
) -> None:
    scene = Scene(tmp_path / "store")
    scene.submit()
    assert follower.stdout is not None
    follower.stdout.readline()
    follower.stdout.close()
    assert _ended(follower) == 0
    assert follower.stderr is not None
    assert follower.stderr.read() == b""
    scene.close()

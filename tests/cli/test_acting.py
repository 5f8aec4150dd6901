"""The words of the verbs that change jobs, and how they answer; what they do is tested in tests/e2e."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inturn.cli.main import main
from inturn.service import capacity
from tests.service.scene import Scene


class Actor:
    """The command line, run inside this process."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys

    def run(self, *words: str | int, code: int = 0) -> str:
        """What a command prints on standard output; it must end with this exit code."""
        self._capsys.readouterr()
        found = main(["--dir", str(self.directory), *map(str, words)])
        printed = self._capsys.readouterr()
        assert found == code, printed
        return printed.out

    def data(self, *words: str | int, code: int = 0) -> Any:
        return json.loads(self.run("--json", *words, code=code))["data"]

    def error(self, *words: str | int, code: int) -> str:
        error: dict[str, str] = json.loads(self.run("--json", *words, code=code))["error"]
        assert error["hint"]
        return error["code"]


@pytest.fixture
def actor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Actor:
    return Actor(tmp_path / "store", capsys)


@pytest.fixture
def scene(actor: Actor) -> Iterator[Scene]:
    scene = Scene(actor.directory)
    yield scene
    scene.close()


@pytest.mark.parametrize(
    "words",
    [
        ("pause",),
        ("pause", "1", "--queue", "q"),
        ("pause", "--queue", "q", "--pool", "p"),
        ("pause", "--queue", "no queue"),
        ("pause", "1", "--with-running"),
        ("pause", "--status", "live", "--with-running"),
        ("pause", "--status", "done"),
        ("resume", "--pool", "p", "--queue", "q"),
        ("resume", "1", "--pool", "p"),
        ("resume", "--with-running"),
        ("retry",),
        ("retry", "1", "--with-dependants"),
        ("rerun",),
        ("edit", "--priority", "1"),
        ("edit", "1"),
        ("edit", "1", "--"),
        ("edit", "1", "--priority"),
    ],
)
def test_nonsense_is_a_usage_error(actor: Actor, scene: Scene, words: tuple[str, ...]) -> None:
    scene.add()
    actor.error(*words, code=2)
    assert scene.job(1).revision == 1


@pytest.mark.parametrize("verb", ["pause", "resume", "retry", "rerun"])
def test_a_job_that_does_not_exist_is_not_found(actor: Actor, scene: Scene, verb: str) -> None:
    assert actor.error(verb, 7, code=3) == "not_found"
    assert actor.error(verb, "--tag", "none", code=3) == "not_found"


@pytest.mark.parametrize("words", [("pause", 1), ("resume", 1), ("retry", 1), ("rerun", 1)])
def test_where_there_is_no_store_none_is_created(actor: Actor, words: tuple[str | int, ...]) -> None:
    assert actor.error(*words, code=3) == "not_found"
    assert actor.error("edit", 1, "--priority", 1, code=3) == "not_found"
    assert not actor.directory.exists()


def test_a_queue_can_be_paused_before_its_first_job(actor: Actor) -> None:
    assert actor.data("pause", "--queue", "q") == [{"queue": "q", "result": "paused", "problem": None}]
    assert actor.run("add", "--queue", "q", "--", "true") == "1\n"
    assert "paused" in actor.run("why", 1)


def test_jobs_are_told_one_by_one(actor: Actor, scene: Scene) -> None:
    first, second = scene.add(), int(actor.run("add", "--name", "two", "--", "true"))
    assert actor.run("pause", first, "two") == f"{first}\tpaused\n{second}\tpaused\n"
    (told,) = actor.data("resume", "two")
    assert told == {
        "id": second,
        "name": "two",
        "result": "resumed",
        "problem": None,
        "phase": "queued",
        "status": "queued",
        "outcome": None,
    }
    assert [one["result"] for one in actor.data("resume", "two", first, code=6)] == ["unchanged", "resumed"]
    assert actor.error("resume", "two", code=5) == "conflict"


def test_queues_and_pools_are_told_by_kind_and_name(actor: Actor, scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 2)
    assert actor.run("pause", "--queue", "a", "--queue", "b") == "queue:a\tpaused\nqueue:b\tpaused\n"
    assert (
        actor.run("pause", "--queue", "a", "--queue", "c", code=6) == "queue:a\tunchanged\nqueue:c\tpaused\n"
    )
    assert actor.error("pause", "--queue", "a", code=5) == "conflict"
    assert actor.run("pause", "--pool", "p") == "pool:p\tpaused\n"
    assert actor.error("pause", "--pool", "other", code=2) == "unknown_pool"
    assert actor.run("resume", "--pool", "p") == "pool:p\tresumed\n"
    assert actor.error("resume", "--pool", "p", code=5) == "conflict"
    assert {one["name"]: one["held"] for one in actor.data("status")["queues"]} == dict.fromkeys("abc", True)


def test_with_another_filter_beside_it_a_queue_picks_jobs(actor: Actor, scene: Scene) -> None:
    jobs = [scene.add(), scene.add()]
    actor.error("pause", "--queue", "default", "--status", "queued", code=2)
    assert actor.run("pause", "--queue", "default", "--status", "queued", "--yes") == "".join(
        f"{job}\tpaused\n" for job in jobs
    )
    assert not actor.data("status")["queues"][0]["held"]
    actor.run("resume", "--queue", "default", "--status", "paused", "--yes")
    assert [scene.job(job).phase for job in jobs] == ["queued", "queued"]


def test_a_filter_passes_over_what_is_paused_already(actor: Actor, scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 2)
    first, second = scene.add(), scene.add()
    with scene.store.writing():
        scene.store.execute("UPDATE jobs SET pool = 'p'")
    actor.run("pause", first)
    assert (
        actor.run("pause", "--pool", "p", "--queue", "default", "--status", "queued") == f"{second}\tpaused\n"
    )
    actor.error("pause", "--pool", "p", "--queue", "default", "--status", "queued", code=3)


def test_an_edit_is_told_and_a_local_time_is_echoed(
    actor: Actor, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    job = scene.add()
    assert actor.data("edit", job, "--priority", "-3", "--note", "")[0]["result"] == "edited"
    assert scene.job(job).priority == -3
    assert main(["--dir", str(actor.directory), "edit", str(job), "--at", "2100-01-01"]) == 0
    assert "--at: 2100-01-01 00:00:00" in capsys.readouterr().err


def test_the_new_ids_stand_alone_on_their_lines(actor: Actor, scene: Scene) -> None:
    jobs = [scene.add(), scene.add()]
    assert actor.run("rerun", *jobs) == "3\n4\n"
    assert actor.data("rerun", *jobs) == [{"id": 5, "rerun_of": 1}, {"id": 6, "rerun_of": 2}]

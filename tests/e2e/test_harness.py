"""The tests' own instruments: what they claim to find and end, they do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.harness import Cli, until


@contextmanager
def sleeper(
    environment: dict[str, str], *words: str, stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    script = "read -r _; exit 0"
    process = subprocess.Popen(
        ["sh", "-c", script, *words], stdin=subprocess.PIPE, stdout=stdout, env=environment
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def test_until_returns_what_the_predicate_found() -> None:
    answers = iter(["", "", "there"])
    assert until(lambda: next(answers), "an answer") == "there"


def test_until_says_what_it_was_waiting_for() -> None:
    with pytest.raises(AssertionError, match=r"the moon to be blue; the last look gave \[\]"):
        until(list, "the moon to be blue", deadline=0)


def test_a_process_is_found_by_its_environment(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    with sleeper(cli.environment()) as process:
        assert set(cli.processes()) == {process.pid}


def test_a_process_is_found_by_its_arguments(tmp_path: Path) -> None:
    with sleeper({}, "--dir", str(tmp_path / "store")) as process:
        assert set(Cli(tmp_path).processes()) == {process.pid}


def test_a_process_without_any_environment_is_found_by_a_file_that_it_holds_open(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    log = os.open(tmp_path / "store" / "log", os.O_WRONLY | os.O_CREAT)
    try:
        with sleeper({}, stdout=log) as process:
            assert set(Cli(tmp_path).processes()) == {process.pid}
    finally:
        os.close(log)


def test_a_process_of_a_store_with_a_longer_name_is_left_alone(tmp_path: Path) -> None:
    with sleeper({"INTURN_DIR": str(tmp_path / "store2")}, f"--dir={tmp_path}/store2") as process:
        assert not Cli(tmp_path).processes()
        assert not Cli(tmp_path).end_everything()
        assert process.poll() is None


def test_what_does_not_leave_by_itself_is_killed_and_reported(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    with sleeper(cli.environment()) as process:
        assert set(cli.end_everything(patience=0.1)) == {process.pid}
        assert process.wait() == -9

"""The supervisors of an array sleep, and a nurse looks at the store for them. Whatever happens, they wake."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.harness import Cli, until

UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"
COUNT = 4


@pytest.fixture
def gate(cli: Cli) -> int:
    """A job that runs until the file `go` is there."""
    return cli.run("run", "-c", UNTIL_GO).id


def submit_array(cli: Cli, *options: str) -> list[int]:
    """An array whose jobs each write a line; returns the pids of its supervisors."""
    cli.run("run", "--array", f"1-{COUNT}", *options, "-c", "echo {} >> ran").check()
    newest = cli.run("list", "--all", "--json").check().data[:COUNT]
    return [job["owner"]["pid"] for job in sorted(newest, key=lambda job: job["id"])]


def submit_sleepers(cli: Cli, gate: int) -> list[int]:
    """An array that waits for a job; all its supervisors are asleep."""
    pids = submit_array(cli, "--after-success", str(gate))
    until(lambda: all(sleeps(pid) for pid in pids), "all are asleep")
    return pids


def open_files(pid: int) -> str:
    try:
        return " ".join(os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:
        return ""


def sleeps(pid: int) -> bool:
    """Whether it has a FIFO, and has not opened the store."""
    return ".wake" in open_files(pid) and ".db" not in open_files(pid)


def nurse(cli: Cli, pids: list[int], gate: int) -> int:
    others = {*pids, cli.show(gate)["owner"]["pid"]}
    (found,) = (pid for pid, line in cli.processes().items() if "supervise.py" in line and pid not in others)
    return found


def assert_all_run_once(cli: Cli) -> None:
    (cli.root / "go").touch()
    cli.run("wait", *range(1, COUNT + 2)).check()
    assert sorted((cli.root / "ran").read_text().split()) == [str(number + 1) for number in range(COUNT)]
    until(lambda: not cli.processes(), "the end of everything")


def test_all_run_when_their_time_has_come_and_nobody_is_left(cli: Cli, gate: int) -> None:
    submit_sleepers(cli, gate)
    assert_all_run_once(cli)


def test_behind_a_limit_they_run_one_after_the_other(cli: Cli, gate: int) -> None:
    cli.run("limit", "1").check()
    submit_sleepers(cli, gate)
    assert_all_run_once(cli)


def test_when_the_nurse_is_killed_they_look_for_themselves(cli: Cli, gate: int) -> None:
    pids = submit_sleepers(cli, gate)
    os.kill(nurse(cli, pids, gate), signal.SIGKILL)
    until(lambda: all(".db" in open_files(pid) for pid in pids), "all are awake")
    assert_all_run_once(cli)


def test_whoever_cannot_be_called_wakes_all_the_same(cli: Cli, gate: int) -> None:
    submit_sleepers(cli, gate)
    for fifo in (cli.store / "owners").glob("*.*.wake"):
        fifo.unlink()
    assert_all_run_once(cli)


def test_one_that_is_cancelled_goes_and_the_others_sleep_on(cli: Cli, gate: int) -> None:
    pids = submit_sleepers(cli, gate)
    cli.run("cancel", gate + 1).check()
    until(lambda: not Path(f"/proc/{pids[0]}").exists(), "its end")
    assert all(sleeps(pid) for pid in pids[1:])

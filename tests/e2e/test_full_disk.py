"""A file system that becomes full while a run writes: the run goes on, and its log is marked."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import Cli


@pytest.fixture
def small(cli: Cli) -> Iterator[Path]:
    """The directory of the logs, on a file system of its own with 64 KiB."""
    cli.run("limit", "9").check()  # makes the store
    directory = cli.store / "logs"
    options = ["-o", "size=64k,mode=0700"]
    mounted = subprocess.run(["mount", "-t", "tmpfs", *options, "logs", directory], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    yield directory
    cli.end_everything()
    subprocess.run(["umount", "--lazy", directory], check=True)


@pytest.mark.parametrize(
    "script",
    [
        "head -c 1000000 /dev/zero; exit 3",  # ends before anybody has taken a second look
        "head -c 1000000 /dev/zero >&2; sleep 0.4; exit 3",
        "sleep 0.3; head -c 1000000 /dev/zero; exit 3",
    ],
)
def test_the_log_of_a_run_for_which_there_was_no_room_is_marked(cli: Cli, small: Path, script: str) -> None:
    job = cli.run("run", "-c", script).id
    cli.run("wait", job)
    (run,) = cli.show(job)["runs"]
    assert (run["outcome"], run["exit_code"], run["log_incomplete"]) == ("failure", 3, True)
    said = cli.run("logs", job).check()
    assert "incomplete: the file system was full" in said.err.decode()
    assert 0 < len(said.out) < 1_000_000
    assert cli.run("logs", job, "--json").check().data["log_incomplete"] is True


def test_the_log_of_a_run_that_had_room_is_not_marked(cli: Cli, small: Path) -> None:
    job = cli.run("run", "--wait", "-c", "head -c 10000 /dev/zero").id
    assert cli.show(job)["runs"][0]["log_incomplete"] is False
    assert not cli.run("logs", job).check().err

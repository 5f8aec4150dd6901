"""Many processes write to one store at once: nothing is lost, nothing runs twice, nobody sees a lock."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import IO

import pytest

from tests.e2e.harness import Cli, until
from tests.e2e.shells import environment

WRITERS = 10
WORKERS = 8

NOTE = "echo $INTURN_JOB_ID >>ran"


COMMAND_BY_COMMAND = """
i=0
while [ $i -lt $1 ]; do
  i=$((i + 1))
  inturn add --name w$2-$i -c "$3" || exit
done
"""
AS_FAST_AS_CAN_BE = """
import sys
from inturn.cli.main import main
_, count, number, note = sys.argv
for i in range(int(count)):
    assert main(["add", "--name", f"w{number}-{i}", "-c", note]) == 0
"""
# How a writer adds its jobs, and how many.
WAYS: dict[str, tuple[list[str], int]] = {
    "command by command": (["sh", "-c", COMMAND_BY_COMMAND, "sh"], 15),
    "as fast as one process can": ([sys.executable, "-c", AS_FAST_AS_CAN_BE], 200),
}


def writer(cli: Cli, number: int, way: str) -> subprocess.Popen[bytes]:
    """A process that adds jobs one after the other; their ids go to one file, what goes wrong to another."""
    words, each = WAYS[way]
    ids, errors = cli.root / f"ids.{number}", cli.root / f"err.writer.{number}"
    with open(ids, "wb") as out, open(errors, "wb") as err:
        return subprocess.Popen(
            [*words, str(each), str(number), NOTE],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment(cli),
            cwd=cli.root,
        )


def background(cli: Cli, name: str, *words: str | int, out: int | IO[bytes]) -> subprocess.Popen[bytes]:
    with open(cli.root / f"err.{name}", "wb") as errors:
        return cli.popen(*words, stdout=out, stderr=errors)


def numbers(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_lost_or_run_twice_and_no_lock_reaches_a_user(cli: Cli, way: str) -> None:
    with open(cli.root / "events", "wb") as events:
        cli.run("add", "--name", "first", "-c", NOTE).check()
        follower = background(cli, "events", "events", "--follow", "--json", out=events)
    workers = [
        background(cli, f"worker.{n}", "work", "-j", 2, out=subprocess.DEVNULL) for n in range(WORKERS)
    ]
    writers = [writer(cli, number, way) for number in range(WRITERS)]
    while any(each.poll() is None for each in writers):
        told = cli.run("list", "--json").check()
        assert not told.err
        assert [job["id"] for job in told.data] == sorted((job["id"] for job in told.data), reverse=True)
    assert [each.returncode for each in writers] == [0] * WRITERS

    added = [1] + [job for number in range(WRITERS) for job in numbers(cli.root / f"ids.{number}")]
    assert len(added) == len(set(added)) == 1 + WRITERS * WAYS[way][1]
    cli.run("wait", *added, timeout=240).check()

    for worker in workers:
        worker.terminate()
    assert [worker.wait() for worker in workers] == [0] * WORKERS
    assert sorted(numbers(cli.root / "ran")) == sorted(added)

    def completed() -> Counter[int]:
        lines = (cli.root / "events").read_bytes().splitlines(keepends=True)
        entries = [json.loads(line) for line in lines if line.endswith(b"\n")]
        return Counter(entry["job"] for entry in entries if entry["to"] == "completed")

    until(lambda: len(completed()) == len(added), "the end of every job among the events")
    assert set(completed().values()) == {1}
    assert follower.poll() is None
    follower.terminate()

    said = {path.name: path.read_text() for path in cli.root.glob("err.*")}
    assert set(said.values()) == {""}, said
    totals = cli.run("status", "--json").check().data
    assert (totals["success"], totals["queued"], totals["running"]) == (len(added), 0, 0)

"""The article's pipeline, typed with its own commands: a preparation, and four shards in a pool of two."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.harness import INTURN, Cli, until

CONFIGURATION = """\
schema_version: 1
concurrency:
  max_active_slots: 4
  pools:
    analysis: 2
"""

COMMANDS = """\
inturn run --name prepare_data -- python prepare_data.py
for shard in 1 2 3 4; do
    inturn run --after-success prepare_data \\
      --pool analysis --slots 1 \\
      --retries 2 --retryable-exit-code 1 --retry-delay 1s \\
      -- python analyze_data.py --shard "$shard"
done
"""

# Each ends when the test says so, by a file, with the exit code that the file holds.
PROGRAM = """\
import pathlib, sys, time
told = pathlib.Path("-".join(["end", *sys.argv[2:]]))
while not (told.exists() and told.read_text()):
    time.sleep(0.02)
code = int(told.read_text())
told.rename(f"{told}.seen")
sys.exit(code)
"""

SHARDS = (2, 3, 4, 5)


@pytest.fixture
def pipeline(cli: Cli) -> Cli:
    """The pipeline, submitted from a shell; the preparation runs until it is told to end."""
    cli.configure(CONFIGURATION)
    for name in ("prepare_data.py", "analyze_data.py"):
        (cli.root / name).write_text(PROGRAM)
    done = subprocess.run(
        ["sh", "-eu", "-c", COMMANDS],
        capture_output=True,
        env=cli.environment({"PATH": f"{os.path.dirname(INTURN)}:{os.environ['PATH']}"}),
        cwd=cli.root,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.split() == [b"1", b"2", b"3", b"4", b"5"]
    return cli


def end(cli: Cli, *what: str, code: int = 0) -> None:
    """Let the preparation, or one shard, end; the file appears with its content."""
    path = Path(cli.root, "-".join(["end", *what]))
    path.with_suffix(".new").write_text(str(code))
    path.with_suffix(".new").rename(path)


def phases(cli: Cli) -> list[str]:
    """The phases of the four shards."""
    return [cli.phase(shard) for shard in SHARDS]


def test_all_four_shards_wait_while_the_preparation_runs(pipeline: Cli) -> None:
    pipeline.wait_phase(1, "running")
    assert phases(pipeline) == ["waiting"] * 4
    for shard in SHARDS:
        (dependency,) = pipeline.show(shard)["dependencies"]
        assert (dependency["job_id"], dependency["outcomes"]) == (1, ["success"])
        assert dependency["observed_outcome"] is None


def test_two_of_four_shards_run_at_a_time_and_all_succeed(pipeline: Cli) -> None:
    end(pipeline)
    until(
        lambda: sorted(phases(pipeline)) == ["queued", "queued", "running", "running"],
        "two shards running and two in line",
    )
    prepared = pipeline.show(1)
    revision = len(pipeline.run("events", "--job", 1, "--json").check().data)
    first = [shard for shard in SHARDS if pipeline.phase(shard) == "running"]
    for shard in SHARDS:
        (receipt,) = pipeline.show(shard)["dependencies"]
        assert (receipt["observed_outcome"], receipt["observed_revision"]) == ("success", revision)
    for shard in first:
        assert pipeline.show(shard)["runs"][0]["started_at"] >= prepared["completed_at"]
        end(pipeline, str(shard - 1))
    until(
        lambda: sorted(phases(pipeline)) == ["completed", "completed", "running", "running"],
        "the other two in their place",
    )
    for shard in set(SHARDS) - set(first):
        end(pipeline, str(shard - 1))
    until(lambda: phases(pipeline) == ["completed"] * 4, "the end of the pipeline")
    assert [pipeline.show(shard)["outcome"] for shard in SHARDS] == ["success"] * 4


def test_a_failed_preparation_aborts_every_shard_and_none_of_them_ever_runs(pipeline: Cli) -> None:
    end(pipeline, code=1)
    until(lambda: phases(pipeline) == ["completed"] * 4, "the end of all four shards")
    assert pipeline.show(1)["outcome"] == "failure"
    for shard in SHARDS:
        shown = pipeline.show(shard)
        assert (shown["outcome"], shown["reason"]) == ("aborted", "dependency_unsatisfied")
        assert shown["runs"] == []
        assert shown["attempts"] == 0
        assert shown["dependencies"][0]["observed_outcome"] == "failure"
    assert pipeline.run("pools", "--json").check().data["store"]["used"] == 0


def test_a_flaky_shard_gives_its_slot_to_the_next_one_while_it_pauses(pipeline: Cli) -> None:
    end(pipeline)
    until(lambda: phases(pipeline).count("running") == 2, "two running shards")
    flaky, *_ = running = [shard for shard in SHARDS if pipeline.phase(shard) == "running"]
    end(pipeline, str(flaky - 1), code=1)
    until(
        lambda: {shard for shard in SHARDS if pipeline.phase(shard) == "running"} - set(running),
        "another shard in the slot of the flaky one",
    )
    shown = pipeline.show(flaky)
    assert shown["phase"] == "queued"
    assert shown["attempts"] == 1
    for shard in SHARDS:
        end(pipeline, str(shard - 1))
    until(lambda: phases(pipeline) == ["completed"] * 4, "the end of the pipeline")
    runs = pipeline.show(flaky)["runs"]
    assert [run["exit_code"] for run in runs] == [1, 0]

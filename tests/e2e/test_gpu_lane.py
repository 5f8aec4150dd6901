"""The document's GPU lane, typed with its own commands: a ceiling of 2 for two workers, and the CPU apart."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.harness import DEADLINE, Cli, until
from tests.e2e.ledger import admitted, most_at_once
from tests.e2e.shells import bash, environment

ADD = """\
set -e
inturn add --queue gpu --priority 10 -- python train.py --model large
inturn add --queue gpu --priority 5  -- python train.py --model small
inturn add --queue cpu -- python preprocess.py
"""

# With a second worker on the same queue, and each worker with room for more than the ceiling lets through.
WORK = """\
inturn work --queue gpu --slots 2 -j 2 &
inturn work --queue gpu --slots 2 -j 2 &
inturn work --queue cpu &
wait
"""

# Holds one of two locks as long as it runs; without a free one it says so. It ends when it is let go.
TRAIN = """\
import fcntl, pathlib, sys, time
model = sys.argv[2]
for lock in ("gpu-0", "gpu-1"):
    file = open(lock, "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except OSError:
        continue
else:
    pathlib.Path("too-many").touch()
with open("trained", "a") as order:
    order.write(model + "\\n")
while not pathlib.Path("end-" + model).exists():
    time.sleep(0.02)
"""

PREPROCESS = """\
import pathlib
pathlib.Path("preprocessed").touch()
"""

PROGRAMS = {"train.py": TRAIN, "preprocess.py": PREPROCESS}


@pytest.fixture
def lane(cli: Cli) -> Cli:
    """A directory with the two programs."""
    for name, text in PROGRAMS.items():
        (cli.root / name).write_text(text)
    return cli


def type_in(cli: Cli, script: str) -> list[int]:
    """Run a script in a shell; the ids that it printed."""
    return bash(cli, script).ids


def work(cli: Cli) -> subprocess.Popen[bytes]:
    """The shell in which the workers run in the background."""
    return subprocess.Popen(
        ["bash", "-c", WORK],
        stdin=subprocess.DEVNULL,
        env=environment(cli),
        cwd=cli.root,
        start_new_session=True,
    )


def trained(cli: Cli) -> list[str]:
    """The models in the order in which their training began."""
    path = cli.root / "trained"
    return path.read_text().split() if path.exists() else []


def let_go(cli: Cli, model: str) -> None:
    Path(cli.root, f"end-{model}").touch()


def test_at_most_two_jobs_of_the_lane_run_and_the_highest_priority_goes_first(lane: Cli) -> None:
    large, small, preprocess = type_in(lane, ADD)
    more = type_in(
        lane,
        "for model in third fourth fifth; do inturn add --queue gpu -- python train.py --model $model; done",
    )
    workers = work(lane)
    try:
        # The CPU worker handles preprocessing independently, however full the lane is.
        lane.run("wait", preprocess).check()
        assert (lane.root / "preprocessed").exists()
        until(lambda: len(trained(lane)) == 2, "two trainings")
        assert set(trained(lane)) == {"large", "small"}
        assert [lane.phase(job) for job in (large, small)] == ["running", "running"]
        extra = type_in(lane, "inturn add --queue cpu -- python preprocess.py")
        lane.run("wait", *extra).check()
        assert [lane.phase(job) for job in more] == ["queued"] * 3
        assert len(trained(lane)) == 2

        let_go(lane, "large")
        until(lambda: len(trained(lane)) == 3, "the next training in the place of the large one")
        assert trained(lane)[2] == "third"
        for model in ("small", "third", "fourth", "fifth"):
            let_go(lane, model)
        lane.run("wait", large, small, *more).check()
    finally:
        os.killpg(workers.pid, 15)
        workers.wait(timeout=DEADLINE)

    assert not (lane.root / "too-many").exists()
    gpu = [large, small, *more]
    assert most_at_once(lane, gpu) == 2
    assert admitted(lane, gpu) == gpu


def test_a_worker_of_one_lane_never_touches_the_other(lane: Cli) -> None:
    large, small, preprocess = type_in(lane, ADD)
    lane.run("work", "--queue", "cpu", "--drain").check()
    assert [lane.phase(job) for job in (large, small, preprocess)] == ["queued", "queued", "completed"]
    for model in ("large", "small"):
        let_go(lane, model)
    lane.run("work", "--queue", "gpu", "--slots", 2, "--drain").check()
    assert trained(lane) == ["large", "small"]


@pytest.mark.parametrize("ceilings", [(1, 3), (3, 1), (None, 1)])
def test_each_worker_goes_by_its_own_ceiling_and_counts_the_jobs_of_all(
    lane: Cli, ceilings: tuple[int | None, int]
) -> None:
    first, second = (() if ceiling is None else ("--slots", ceiling) for ceiling in ceilings)
    jobs = [
        lane.run("add", "--queue", "gpu", "-c", "until [ -e go ]; do sleep 0.02; done").id for _ in range(4)
    ]
    lane.popen("work", "--queue", "gpu", "-j", 2, *first)
    started = min(2, ceilings[0] or 2)

    def active() -> list[int]:
        return [job for job in jobs if lane.phase(job) == "running"]

    until(lambda: len(active()) == started, "what the first worker may run")
    # The second one has room, and may claim exactly as long as fewer than its own ceiling are active.
    lane.popen("work", "--queue", "gpu", "-j", 4, *second)
    in_all = max(started, min(4, ceilings[1]))
    until(lambda: len(active()) == in_all, "what both may run")
    (lane.root / "go").touch()
    lane.run("wait", *jobs).check()
    assert most_at_once(lane, jobs) == in_all

"""Thousands of histories of many owners, workers and users on a real store, with crashes at any point.

After every commit everything must hold that the rules of `checker` say, and in the end every job must
have ended as its policy says. A history that fails is printed; its last line tells how to have it again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from inturn.core.transitions import TABLE
from tests.arch.sources import ROOT
from tests.simulation.pool import executor, spread

SEEDS = 2000
_A_TEST = 250


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with executor(2) as processes:
        yield processes


@pytest.mark.parametrize("start", range(1, SEEDS, _A_TEST))
def test_no_history_breaks_an_invariant(start: int, pool: ProcessPoolExecutor) -> None:
    wrong = [history for report in spread(range(start, start + _A_TEST), pool) for history in report.wrong]
    assert not wrong, "\n\n".join(map(str, wrong))


def test_everything_that_can_happen_to_a_job_happens_in_some_history(pool: ProcessPoolExecutor) -> None:
    kinds = {kind for report in spread(range(1, 501), pool) for kind in report.kinds}
    findings = {"relaunched", "adopted", "lost", "returned", "failed", "unverified"}
    assert kinds >= findings | set(TABLE)


def test_a_seed_gives_the_same_history_again() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--seeds", "1", "--start", "7"]
    told = {
        subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": salt},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
            timeout=120,
        ).stdout
        for salt in ("1", "2")
    }
    assert len(told) == 1

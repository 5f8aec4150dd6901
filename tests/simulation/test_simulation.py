"""Thousands of histories of many owners, workers and users on a real store, with crashes at any point.

After every commit everything must hold that the rules of `checker` say, and in the end every job must have
ended as its policy says. A history that fails is printed; its last line tells how to have it again.
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
from tests.simulation.pool import Report, executor, spread

SEEDS = 2000
_A_TEST = 250


class Lives:
    """Histories that have been lived through, each once."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool
        self._reports: dict[int, list[Report]] = {}

    def __call__(self, start: int) -> list[Report]:
        """Reports on as many as one test looks at, from the seed `start` on."""
        if start not in self._reports:
            self._reports[start] = list(spread(range(start, start + _A_TEST), self._pool))
        return self._reports[start]


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with executor(2) as processes:
        yield processes


@pytest.fixture(scope="module")
def lives(pool: ProcessPoolExecutor) -> Lives:
    return Lives(pool)


@pytest.mark.parametrize("start", range(1, SEEDS, _A_TEST))
def test_no_history_breaks_an_invariant(start: int, lives: Lives) -> None:
    wrong = [history for report in lives(start) for history in report.wrong]
    assert not wrong, "\n\n".join(map(str, wrong))


def test_without_a_single_hint_no_history_breaks_an_invariant_and_all_come_to_their_end(
    pool: ProcessPoolExecutor,
) -> None:
    seeds = range(1, 1 + _A_TEST)
    wrong = [history for report in spread(seeds, pool, hints=False) for history in report.wrong]
    assert not wrong, "\n\n".join(map(str, wrong))


def test_everything_that_can_happen_to_a_job_happens_in_some_history(lives: Lives) -> None:
    kinds = {kind for start in (1, 1 + _A_TEST) for report in lives(start) for kind in report.kinds}
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

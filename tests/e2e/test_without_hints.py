"""Hints make inturn quick, and nothing else: if every one is lost, the same comes about by polls, later."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.harness import until
from tests.e2e.scene import Scene

UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"

Workload = Callable[["Company"], None]


class Result(NamedTuple):
    """What became of the jobs (outcome and reason) and of their runs, and in which order these began."""

    jobs: list[tuple[int, str | None, str | None]]
    runs: list[Any]
    order: list[int]


class Company:
    """Commands, supervisors and a worker; if they are `mute`, no hint of any of them ever arrives."""

    def __init__(self, root: Path, mute: bool) -> None:
        self.scene = Scene(root, "")
        supervisors = self.scene.dies("supervisor", "", mute=mute)
        self._orders = self.scene.dies("command", "", mute=mute, children=supervisors)
        self._mute = mute

    def do(self, *words: str) -> None:
        """Run `inturn WORD…`."""
        assert self.scene.start(self._orders, *words).wait(timeout=120) == 0, self.scene.told()

    def worker(self) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until it is there and has nothing to do."""
        process = self.scene.start(self._orders, "work")
        until(lambda: self.scene.cli.run("workers", "--json").check().data, "the worker")
        return process

    def assert_all_are_told_to_be_so(self, count: int) -> None:
        """That supervisors were given the orders too is what all this depends on."""
        found = [line for line in self.scene.cli.processes().values() if "mortal.py" in line]
        assert len(found) == count
        assert all(f'"mute": {str(self._mute).lower()}' in line for line in found), found

    def result(self) -> Result:
        """Wait until every job has ended; what became of them."""
        ended = self.scene.wait()
        context = self.scene.open()
        assert context.store is not None
        runs = context.store.execute(
            "SELECT job_id, number, outcome, exit_code, signal FROM runs ORDER BY job_id, number"
        )
        admitted = context.store.execute("SELECT job_id FROM events WHERE kind = 'admitted' ORDER BY id")
        result = Result(
            [(job.id, job.outcome, job.reason) for job in ended],
            runs.fetchall(),
            [job_id for (job_id,) in admitted],
        )
        context.store.close()
        return result


def supervisors_behind_a_limit_of_one(company: Company) -> None:
    company.do("limit", "1")
    company.do("run", *company.scene.target(UNTIL_GO))
    company.scene.await_phase("running")
    for priority in ("0", "0", "5", "-5", "0"):
        company.do("run", "--priority", priority, *company.scene.target())
    company.assert_all_are_told_to_be_so(6)
    company.scene.go()


def an_array_behind_another_job_and_a_limit(company: Company) -> None:
    company.do("limit", "1")
    company.do("run", *company.scene.target(UNTIL_GO))
    company.scene.await_phase("running")
    company.do("run", "--after-success", "1", "--array", "1-3", *company.scene.target())
    company.do("run", "--priority", "1", *company.scene.target())
    company.assert_all_are_told_to_be_so(6)
    company.scene.go()


def a_chain_of_queued_jobs_and_one_that_is_supervised(company: Company) -> None:
    worker = company.worker()
    company.do("add", *company.scene.target(UNTIL_GO))
    for number in range(1, 5):
        company.do("add", "--after-success", str(number), *company.scene.target())
    company.do("run", "--after-success", "5", *company.scene.target())
    company.do("add", "--after-success", "6", *company.scene.target())
    company.scene.go()
    company.scene.wait()
    worker.terminate()
    assert worker.wait(timeout=60) == 0


def jobs_that_are_acted_upon(company: Company) -> None:
    """A slot that is taken away, one that is given back, and an end that nobody tells a dependent of."""
    company.do("limit", "1")
    company.do("run", *company.scene.target(UNTIL_GO))
    company.do("run", *company.scene.target())
    company.do("run", "--after-finish", "2", *company.scene.target())
    company.do("run", "--after-success", "3", *company.scene.target())
    company.scene.await_phase("running")
    company.do("pause", "3")
    company.do("cancel", "1")
    company.scene.await_phase("completed", job_id=2)
    company.do("resume", "3")


@pytest.fixture
def companies(tmp_path: Path) -> Iterator[dict[bool, Company]]:
    """One whose hints arrive, and one whose hints are lost."""
    made = {mute: Company(tmp_path / ("mute" if mute else "heard"), mute) for mute in (False, True)}
    yield made
    for company in made.values():
        company.scene.close()


@pytest.mark.parametrize(
    "workload",
    [
        supervisors_behind_a_limit_of_one,
        an_array_behind_another_job_and_a_limit,
        a_chain_of_queued_jobs_and_one_that_is_supervised,
        jobs_that_are_acted_upon,
    ],
)
def test_without_a_single_hint_all_ends_as_with_them(
    workload: Workload, companies: dict[bool, Company]
) -> None:
    results = {}
    for mute, company in companies.items():
        workload(company)
        results[mute] = company.result()
        company.scene.assert_sound()
    assert results[True] == results[False]
    assert len(results[True].order) >= 3

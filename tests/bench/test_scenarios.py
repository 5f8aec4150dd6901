"""The benchmark still runs: every scenario, with very little to do, gives numbers that can be true."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from bench import __main__ as bench
from bench import process
from bench.place import arena
from bench.records import Case, Record
from bench.scenarios import SCENARIOS
from bench.scenarios.base import Scenario, Setting
from bench.sizes import TINY

# May be nothing (an idle process uses no time), or less (a job may run before its submission has ended).
MAY_BE_NOTHING = ("processor time of all together", "from its end")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_gives_a_plausible_record_for_each_of_its_cases(
    scenario: Scenario, tmp_path: Path
) -> None:
    where = tmp_path / "it's here"
    where.mkdir()
    facts, records, failures = bench.run([scenario], TINY, (), str(where))
    assert not failures
    assert facts["interpreter"].startswith(("CPython", "PyPy"))
    assert {record.scenario for record in records} == {scenario.name}
    with arena(str(where)) as made:
        assert_nothing_is_missing(scenario.cases(Setting(TINY, (), made)), records)
    for record in records:
        assert_plausible(record)
    assert not process.belonging(str(tmp_path)), "no process is left"
    assert os.listdir(where) == [], "and no file"


def assert_nothing_is_missing(cases: list[Case], records: list[Record]) -> None:
    assert {record.what for record in records} == {case.what for case in cases}
    assert len({case.what for case in cases}) == len(cases), "each has a name of its own"
    compared = {(record.what, other) for record in records for other in record.ratios}
    metrics = {record.what: {one.metric for one in records if one.what == record.what} for record in records}
    for case in cases:
        for other in case.against:
            assert metrics[case.what] & metrics[other], f"{case.what} has nothing in common with {other}"
    assert any(case.against for case in cases) == bool(compared)


def assert_plausible(record: Record) -> None:
    assert len(record.rounds) == TINY.rounds
    assert all(record.rounds), record
    assert all(math.isfinite(value) for value in record.samples), record
    if record.metric not in MAY_BE_NOTHING:
        assert min(record.samples) > 0, record
    assert all(math.isfinite(value) and value > 0 for value in record.ratios.values()), record

"""A scenario that fails costs only itself: an hour of measuring is not lost at its end."""

from __future__ import annotations

from pathlib import Path

from bench import __main__ as bench
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario
from bench.sizes import TINY


def measured(_: Place) -> list[Measurement]:
    return [Measurement("time", "ms", 1)]


def failing(place: Place) -> list[Measurement]:
    place.popen(["sleep", "60"])
    place.run(["false"])
    return []


def scenario(name: str, case: Case) -> Scenario:
    return Scenario(name, name, lambda _: [case])


def test_a_scenario_that_fails_is_left_out_and_told_and_its_processes_are_ended(tmp_path: Path) -> None:
    bad = scenario("bad", Case("inturn", "fails", failing))
    good = scenario("good", Case("inturn", "works", measured))
    result = bench.run([bad, good], TINY, (), str(tmp_path))
    assert [record.scenario for record in result.records] == ["good"]
    assert result.failures == {"bad": "false: exit code 1: b''"}
    assert list(tmp_path.iterdir()) == []

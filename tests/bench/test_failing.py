"""A scenario that fails costs only itself: an hour of measuring is not lost at its end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import __main__ as bench
from bench.place import Failed, Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
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


def test_a_scenario_that_cannot_even_say_what_it_measures_is_left_out(tmp_path: Path) -> None:
    def unprepared(_: Setting) -> list[Case]:
        raise Failed("there is nothing to measure")

    bad = Scenario("bad", "bad", unprepared)
    good = scenario("good", Case("inturn", "works", measured))
    result = bench.run([bad, good], TINY, (), str(tmp_path))
    assert [record.scenario for record in result.records] == ["good"]
    assert result.failures == {"bad": "there is nothing to measure"}


@pytest.mark.parametrize("problem", [Failed("not stopped"), OSError("no such tool")])
def test_a_place_ends_everything_although_something_at_its_end_fails(
    tmp_path: Path, problem: Exception
) -> None:
    called: list[str] = []

    def fail() -> None:
        called.append("the last")
        raise problem

    place = Place(str(tmp_path / "place"))
    sleeper = place.popen(["sleep", "600"])
    _, fd = place.fifo("fifo")
    place.at_the_end(lambda: called.append("the first"))
    place.at_the_end(fail)
    with pytest.raises(type(problem), match=str(problem)), place:
        pass
    assert called == ["the last", "the first"]
    assert sleeper.returncode is not None
    assert place.processes() == []
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_what_is_told_of_a_place_is_why_it_failed_and_not_what_failed_after_that(tmp_path: Path) -> None:
    def fail() -> None:
        raise Failed("not stopped")

    place = Place(str(tmp_path / "place"))
    place.at_the_end(fail)
    with pytest.raises(Failed, match="exit code 1"), place:
        place.run(["false"])

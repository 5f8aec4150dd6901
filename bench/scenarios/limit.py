"""Many supervised jobs behind one slot: how fast they take turns, and what they cost a newcomer."""

from __future__ import annotations

from collections.abc import Iterator

from bench.bell import Bell, Gate
from bench.floors import SPAWN, spawn_seconds
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.scenarios.stage import stage
from bench.tools import INTURN
from bench.tools.inturn import PROGRAM, inturn

NEWCOMER = "`inturn run -- true` meanwhile"
ALONE = "nobody else waits"


def cases(setting: Setting) -> list[Case]:
    """A crowd, and the same without it."""
    count, newcomers = setting.sizes.crowd, setting.sizes.submissions

    def loop(place: Place) -> Iterator[Measurement]:
        yield Measurement("rate", "jobs/s", count / spawn_seconds(place, count))

    def alone(place: Place) -> Iterator[Measurement]:
        _close_the_only_slot(place)
        yield from _submissions(place, newcomers)

    def crowd(place: Place) -> Iterator[Measurement]:
        bell, gate = _close_the_only_slot(place)
        for _ in range(count):
            inturn(place, "run", "--", *bell.ringer)
        yield from _submissions(place, newcomers)
        start = gate.let_go()
        yield Measurement("rate", "jobs/s", count / (bell.hear(count) - start))

    return [
        Case("floor", SPAWN, loop),
        Case("inturn", ALONE, alone),
        Case("inturn", f"{count} supervised jobs behind `inturn limit 1`", crowd, (SPAWN, ALONE)),
    ]


def _close_the_only_slot(place: Place) -> tuple[Bell, Gate]:
    bell, gate = stage(place, INTURN)
    inturn(place, "limit", "1")
    inturn(place, "run", "--", *gate.keeper)
    bell.hear()
    return bell, gate


def _submissions(place: Place, count: int) -> Iterator[Measurement]:
    for _ in range(count):
        yield Measurement(NEWCOMER, "ms", place.time([PROGRAM, "run", "--", "true"]))


SCENARIO = Scenario("limit", "Supervised jobs behind a limit of one", cases)

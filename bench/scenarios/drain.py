"""How many jobs a second workers get through, from the first that starts to the last that runs."""

from __future__ import annotations

from collections.abc import Iterator

from bench.floors import COMMIT, SPAWN, TWO_SPAWNS, drain_floors
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.scenarios.stage import occupy, stage
from bench.tools import INTURN
from bench.tools.base import Tool

FOUR = 4


def cases(setting: Setting) -> list[Case]:
    """Workers of inturn and of the neighbours, alone and two together, and loops that only start programs."""
    count = setting.sizes.drained
    found = drain_floors(count)
    for tool in (INTURN, *setting.neighbours):
        found.append(_draining(tool, count, "one worker", 1, 1, (SPAWN, COMMIT)))
        if tool.most_places >= FOUR:
            found.append(_draining(tool, count, "one worker, 4 at a time", 1, FOUR, (SPAWN, COMMIT)))
        if tool.most_workers > 1:
            found.append(_draining(tool, count, "two workers", 2, 1, (TWO_SPAWNS,)))
    return found


def _draining(tool: Tool, count: int, how: str, workers: int, places: int, against: tuple[str, ...]) -> Case:
    jobs = min(count, tool.most_waiting)

    def measure(place: Place) -> Iterator[Measurement]:
        bell, gate = stage(place, tool)
        occupy(place, tool, bell, gate, workers, places)
        tool.fill(place, ["/bin/true"], jobs)
        tool.submit(place, bell.ringer)
        start = gate.let_go(workers * places)
        yield Measurement("rate", "jobs/s", (jobs + 1) / (bell.hear() - start))

    return Case(tool.name, f"{tool.name}, {how}", measure, against)


SCENARIO = Scenario("drain", "Running jobs of `/bin/true` that stand in line", cases)

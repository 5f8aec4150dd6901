"""How long it takes from the end of one job to the next one that waits for it."""

from __future__ import annotations

from collections.abc import Iterator

from bench.floors import SPAWN, spawn_seconds
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.scenarios.stage import occupy, stage
from bench.tools import INTURN
from bench.tools.base import Tool
from bench.tools.inturn import inturn

HOP = "one hop"


def cases(setting: Setting) -> list[Case]:
    """Supervised and queued jobs of inturn, what neighbours have for it, and programs in a loop."""
    count = setting.sizes.chain

    def loop(place: Place) -> Iterator[Measurement]:
        yield Measurement(HOP, "ms", spawn_seconds(place, count) / count * 1000)

    def supervised(place: Place) -> Iterator[Measurement]:
        bell, gate = stage(place, INTURN)
        previous = inturn(place, "run", "--", *gate.keeper)
        bell.hear()
        for number in range(count):
            command = bell.ringer if number == count - 1 else ["true"]
            previous = inturn(place, "run", "--after-success", previous, "--", *command)
        start = gate.let_go()
        yield Measurement(HOP, "ms", (bell.hear() - start) / count * 1000)

    def queued(tool: Tool) -> Case:
        def measure(place: Place) -> Iterator[Measurement]:
            bell, gate = stage(place, tool)
            occupy(place, tool, bell, gate)
            previous = tool.submit(place, ["true"])
            for number in range(1, count):
                previous = tool.follow(place, bell.ringer if number == count - 1 else ["true"], previous)
            start = gate.let_go()
            yield Measurement(HOP, "ms", (bell.hear() - start) / count * 1000)

        return Case(tool.name, f"{tool.name}, one worker, {tool.chain}", measure, (SPAWN,))

    return [
        Case("floor", SPAWN, loop),
        Case("inturn", "`inturn run --after-success`", supervised, (SPAWN,)),
        *(queued(tool) for tool in (INTURN, *setting.neighbours) if tool.chain),
    ]


SCENARIO = Scenario("chain", "A chain of jobs, each of which waits for the one before it", cases)

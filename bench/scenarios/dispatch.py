"""How soon a job runs when a worker has nothing else to do."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from bench.bell import Bell, from_start_to_ring
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.tools import INTURN
from bench.tools.base import Tool

DIRECTLY = "started directly"


def cases(setting: Setting) -> list[Case]:
    """An idle worker of each tool, and the same command without any."""
    count = setting.sizes.dispatches

    def directly(place: Place) -> Iterator[Measurement]:
        bell = Bell(place)
        for _ in range(count):
            ring, _ = from_start_to_ring(place, bell.ringer, bell, {})
            yield Measurement("from the start of the submission", "ms", ring)

    def dispatching(tool: Tool) -> Case:
        def measure(place: Place) -> Iterator[Measurement]:
            bell = Bell(place)
            tool.prepare(place)
            command = tool.add(bell.ringer)
            tool.submit(place, bell.ringer)
            tool.work(place)
            bell.hear()
            for _ in range(count):
                # Long enough to be idle again, and never the same: not in step with anybody's polling.
                time.sleep(random.uniform(0.05, 0.25))
                ring, after = from_start_to_ring(place, command, bell, tool.environment(place))
                yield Measurement("from the start of the submission", "ms", ring)
                yield Measurement("from its end", "ms", after)

        return Case(tool.name, f"{tool.name}, an idle worker", measure, (DIRECTLY,))

    return [Case("floor", DIRECTLY, directly), *map(dispatching, (INTURN, *setting.neighbours))]


SCENARIO = Scenario("dispatch", "Until the first instruction of a job", cases)

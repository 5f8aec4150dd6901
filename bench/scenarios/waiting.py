"""What waiting costs: the processor time and the memory of all processes of a tool while nothing happens."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence

from bench import process
from bench.bell import Bell, Gate
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.scenarios.stage import occupy, stage
from bench.tools import INTURN
from bench.tools.base import Tool
from bench.tools.inturn import inturn

ASLEEP = "as many bare interpreters, asleep"
SLEEPER = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)")

# What the jobs wait for; whether a job that runs is to hold the only slot; the options, given its id.
REASONS: tuple[tuple[str, bool, Callable[[str], Sequence[str]]], ...] = (
    ("a dependency", False, lambda holder: ("--after-success", holder)),
    ("a slot", True, lambda _: ()),
    ("a delay", False, lambda _: ("--after", "1h")),
)


def cases(setting: Setting) -> list[Case]:
    """Supervised jobs for each reason, singly and as an array; jobs in line; sleeping interpreters."""
    count, seconds = setting.sizes.waiting, setting.sizes.waiting_seconds

    def asleep(place: Place) -> Iterator[Measurement]:
        for _ in range(count):
            place.popen(SLEEPER)
        yield from _watch(place, seconds)

    def supervised(reason: str, limit: bool, words: Callable[[str], Sequence[str]], array: bool) -> Case:
        def measure(place: Place) -> Iterator[Measurement]:
            bell, gate = stage(place, INTURN)
            holder = _hold(place, bell, gate, limit)
            many = ("--array", f"1-{count}") if array else ()
            for _ in range(1 if array else count):
                inturn(place, "run", *many, *words(holder), "--", "true")
            yield from _watch(place, seconds)

        kind = "an array" if array else "single jobs"
        return Case("inturn", f"`inturn run`, waiting for {reason}, {kind}", measure, (ASLEEP,))

    def queued(tool: Tool) -> Case:
        jobs = min(count, tool.most_waiting)

        def measure(place: Place) -> Iterator[Measurement]:
            bell, gate = stage(place, tool)
            occupy(place, tool, bell, gate)
            tool.fill(place, ["true"], jobs)
            yield from _watch(place, seconds)

        return Case(tool.name, f"{tool.name}, jobs in line behind one that runs", measure, (ASLEEP,))

    return [
        Case("floor", ASLEEP, asleep),
        *(supervised(*reason, array) for reason in REASONS for array in (False, True)),
        *map(queued, (INTURN, *setting.neighbours)),
    ]


def _hold(place: Place, bell: Bell, gate: Gate, limit: bool) -> str:
    """Let a job run until it is let go; with `limit` it has the only slot."""
    if limit:
        inturn(place, "limit", "1")
    holder = inturn(place, "run", "--", *gate.keeper)
    bell.hear()
    return holder


def _watch(place: Place, seconds: float) -> Iterator[Measurement]:
    # Until whatever the last submission has set off is over.
    time.sleep(seconds / 2)
    pids = place.processes()
    before, start = process.seconds_used(pids), time.perf_counter()
    time.sleep(seconds)
    used, elapsed = process.seconds_used(pids) - before, time.perf_counter() - start
    yield Measurement("processor time of all together", "% of a core", used / elapsed * 100)
    memory = [mib for mib in map(process.pss_mib, pids) if mib is not None]
    yield Measurement("memory of all together (PSS)", "MiB", sum(memory))
    yield from (Measurement("memory of each process (PSS)", "MiB", mib) for mib in memory)


SCENARIO = Scenario("waiting", "Jobs that wait, while nothing happens", cases)

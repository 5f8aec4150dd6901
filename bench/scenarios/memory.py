"""Whether a worker needs more memory the more jobs are due."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench import process
from bench.bell import Bell, Gate
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.tools import INTURN
from bench.tools.inturn import PROGRAM

# Jobs that the worker has run when it is looked at.
RUN_BEFORE = 20


def cases(setting: Setting) -> list[Case]:
    """A worker with one job due, and one with very many."""

    def working(due: int) -> Callable[[Place], Iterator[Measurement]]:
        def measure(place: Place) -> Iterator[Measurement]:
            bell = Bell(place)
            gate = Gate(place, bell)
            INTURN.fill(place, ["/bin/true"], RUN_BEFORE)
            INTURN.submit(place, gate.keeper)
            INTURN.fill(place, ["/bin/true"], due)
            worker = place.popen([PROGRAM, "work"])
            bell.hear()
            for metric, read in (("PSS", process.pss_mib), ("the most ever (RSS)", process.peak_rss_mib)):
                found = read(worker.pid)
                assert found is not None
                yield Measurement(metric, "MiB", found)
            # Before the job is let go: nothing more is claimed.
            worker.terminate()

        return measure

    few = "one job due"
    return [
        Case("inturn", few, working(1)),
        Case("inturn", f"{setting.sizes.due:,} jobs due", working(setting.sizes.due), (few,)),
    ]


SCENARIO = Scenario("memory", "The memory of a worker", cases)

"""Whether looking becomes slower with the number of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench import stores
from bench.floors import BARE, BARE_PYTHON
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.tools.inturn import PROGRAM

LOOKS = ("status", "list", "why", "show")


def cases(setting: Setting) -> list[Case]:
    """Each verb in a small store and in a big one."""
    sizes, arena = setting.sizes, setting.arena
    few = f"{2 * sizes.few:,} jobs"
    many = f"{sizes.finished + 2 * sizes.behind:,} jobs"

    def looking(verb: str, made: Callable[[], Place]) -> Callable[[Place], Iterator[Measurement]]:
        def measure(_place: Place) -> Iterator[Measurement]:
            place = made()
            words = (stores.newest(place),) if verb in ("why", "show") else ()
            for _ in range(sizes.looks):
                yield Measurement("time", "ms", place.time([PROGRAM, verb, *words]))

        return measure

    def bare(place: Place) -> Iterator[Measurement]:
        for _ in range(sizes.looks):
            yield Measurement("time", "ms", place.time(BARE_PYTHON))

    found = [Case("floor", BARE, bare)]
    for verb in LOOKS:
        shown = f"`inturn {verb}{' JOB' if verb in ('why', 'show') else ''}`"
        among_few = f"{shown}, {few}"
        found += [
            Case("inturn", among_few, looking(verb, lambda: stores.small(arena, sizes)), (BARE,)),
            Case("inturn", f"{shown}, {many}", looking(verb, lambda: stores.big(arena, sizes)), (among_few,)),
        ]
    return found


SCENARIO = Scenario("look", "Looking, in a small and in a big store", cases)

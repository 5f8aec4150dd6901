"""What the machine needs in any case: for an interpreter that does nothing, and to start programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.place import Place, program
from bench.records import Case, Measurement

BARE_PYTHON = [sys.executable, "-c", "pass"]
BARE = "`python -c pass`"
# `posix_spawn` of /bin/true again and again; after each, a durable commit of one row if there are commits.
SPAWN = "spawn loop"
TWO_SPAWNS = "two spawn loops"
COMMIT = "spawn loop with commits"


def spawn_seconds(place: Place, count: int, loops: int = 1, commit: bool = False) -> float:
    """How long so many programs take, one after the other; of several loops at once, the slowest's time."""
    words = (count, place.file("floor.db")) if commit else (count,)
    started = [place.popen(program("spawn_loop.py", *words), fed=True) for _ in range(loops)]
    for one in started:
        assert one.stdout is not None
        one.stdout.readline()
    for one in started:
        assert one.stdin is not None
        one.stdin.write(b"\n")
        one.stdin.close()
    return max(float(one.stdout.readline()) for one in started if one.stdout is not None)


def drain_floors(count: int) -> list[Case]:
    """The loops that a worker is compared with, in jobs a second."""

    def rate(place: Place, loops: int = 1, commit: bool = False) -> Iterator[Measurement]:
        yield Measurement("rate", "jobs/s", loops * count / spawn_seconds(place, count, loops, commit))

    return [
        Case("floor", SPAWN, lambda place: rate(place)),
        Case("floor", COMMIT, lambda place: rate(place, commit=True)),
        Case("floor", TWO_SPAWNS, lambda place: rate(place, loops=2)),
    ]

"""Output: how soon a byte is seen, and how fast a large log is read."""

from __future__ import annotations

import glob
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from bench.place import PATIENCE, Place, program, until, wait_readable
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.tools import INTURN
from bench.tools.inturn import PROGRAM, inturn

TAIL = "`tail -f` of a file"
CAT = "`cat` of the log"
SMALL = "`inturn logs -n 10` of a small log"

LINE = "0123456789 0123456789 0123456789 0123456789 0123456789 01234567"  # 64 bytes with its end


def cases(setting: Setting) -> list[Case]:
    """Following, reading all of it, and reading its end."""
    sizes = setting.sizes
    count = sizes.log_ticks

    def tailed(place: Place) -> Iterator[Measurement]:
        file = place.file("output")
        writer, go = _writer(place, count)
        place.popen(["sh", "-c", f"exec {shlex.join(writer)} >{shlex.quote(file)}"])
        until(lambda: os.path.exists(file), "the file")
        return _follow(place, ["tail", "-c", "+1", "-f", file], count, go)

    def followed(place: Place) -> Iterator[Measurement]:
        INTURN.prepare(place)
        writer, go = _writer(place, count)
        job = inturn(place, "run", "--", *writer)
        return _follow(place, [PROGRAM, "logs", "-f", job], count, go)

    def reading(command: Callable[[Place], Sequence[str]]) -> Callable[[Place], Iterator[Measurement]]:
        def measure(_place: Place) -> Iterator[Measurement]:
            place = _with_log(setting, sizes.log_bytes)
            # Through a pipe, as to a pager: what writes to /dev/null may be spared the copying.
            milliseconds = place.time(["sh", "-c", f"{shlex.join(command(place))} | cat >/dev/null"])
            yield Measurement("rate", "GB/s", sizes.log_bytes / milliseconds / 1e6)

        return measure

    def ending(size: int) -> Callable[[Place], Iterator[Measurement]]:
        def measure(_place: Place) -> Iterator[Measurement]:
            place = _with_log(setting, size)
            for _ in range(sizes.looks):
                yield Measurement("time", "ms", place.time([PROGRAM, "logs", "-n", "10", "1"]))

        return measure

    size = (
        f"{sizes.log_bytes / (1 << 20):,.0f} MiB"
        if sizes.log_bytes >= 1 << 20
        else f"{sizes.log_bytes} bytes"
    )
    return [
        Case("floor", TAIL, tailed),
        Case("inturn", "`inturn logs -f JOB`", followed, (TAIL,)),
        Case("floor", CAT, reading(lambda place: ["cat", _log_of_first(place)])),
        Case("inturn", f"`inturn logs JOB`, {size}", reading(lambda _: [PROGRAM, "logs", "1"]), (CAT,)),
        Case("inturn", SMALL, ending(20 * 64)),
        Case("inturn", f"`inturn logs -n 10` of {size}", ending(sizes.log_bytes), (SMALL,)),
    ]


def _with_log(setting: Setting, size: int) -> Place:
    """A store whose first job has written so many bytes."""

    def fill(place: Place) -> None:
        inturn(place, "run", "--wait", "-c", f"yes '{LINE}' | head -c {size}")
        place.calm()

    return setting.arena.shared(f"log of {size}", fill)


def _log_of_first(place: Place) -> str:
    (path,) = glob.glob(os.path.join(glob.escape(place.store), "logs", "**", "1.1.out"), recursive=True)
    return path


def _writer(place: Place, count: int) -> tuple[list[str], int]:
    """What writes a byte at once, and so many more when there is something to read from the descriptor."""
    path, go = place.fifo("go")
    return [sys.executable, "-S", program("tick.py")[1], str(count), place.file("notes"), path], go


def _follow(place: Place, reader: Sequence[str], count: int, go: int) -> Iterator[Measurement]:
    """When each byte came out of the reader, compared with when the writer has noted it."""
    following = place.popen(reader)
    assert following.stdout is not None
    wait_readable([following.stdout.fileno()], PATIENCE)
    os.read(following.stdout.fileno(), 1)
    os.write(go, b"\n")
    seen: list[int] = []
    while len(seen) < count:
        wait_readable([following.stdout.fileno()], PATIENCE)
        seen += [time.monotonic_ns()] * len(os.read(following.stdout.fileno(), count))
    # The last note is made after the last byte.
    until(lambda: len(_notes(place)) == count, "the notes of the writer")
    for one, other in zip(_notes(place), seen, strict=True):
        yield Measurement("until a byte is seen", "ms", (other - one) / 1e6)


def _notes(place: Place) -> list[int]:
    with open(place.file("notes"), encoding="ascii") as file:
        return [int(line) for line in file if line.endswith("\n")]


SCENARIO = Scenario("logs", "Output", cases)

"""Many detached processes forked from one, the reports by which they make themselves known, and their sleep.

A report is one short write to a pipe that all of them share: the kernel keeps those apart. What one of them
does before it sleeps is memory that it shares with no other any more, so it does as little as it can.
"""

from __future__ import annotations

import gc
import os
import struct

from inturn.host import faults, identity, locks, wake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple, NoReturn
else:
    from inturn.core.records import NamedTuple

HATCHED = 1  # it runs, and holds its lock
ACCEPTED = 2  # it has taken its job over
REFUSED = 3  # the number is how many have hatched: the system gives no more processes, or some have died

# How long those that are present wait for the next one (µs).
PATIENCE = 2_000_000

_REPORT = struct.Struct("<BIQQ96s")
_NUMBER = struct.Struct("<I")
_REPORTS_AT_ONCE = 512


class Hatched(NamedTuple):
    """A report. `lock` is device and inode of the process's lock file."""

    kind: int
    number: int
    lock: tuple[int, int]
    identity: str


def token_of(token: str, number: int) -> str:
    """The token of one process of a brood."""
    return f"{token}.{number}"


class Nest:
    """The pipes that those who are forked share with each other, with their parent and with their nurse.

    Of each pair the second is the end that is written to, or held: the first tells when nobody holds it any
    more. `shell`: who has not hatched. `voice`: who has not said that it is present. `bed`: who sleeps; it
    says so when it has woken. `word`: the parent, until it has done its part. `watch`: the parent, and then
    the nurse, for those who sleep.
    """

    def __init__(self) -> None:
        self.shells, self.shell = os.pipe()
        self.voices, self.voice = os.pipe()
        self.beds, self.bed = os.pipe()
        # In this order: of the ends of one that dies the kernel closes the last ones first, and whoever sees
        # that the parent has done its part must have seen before that nobody watches.
        self.done, self.word = os.pipe()
        self.unwatched, self.watch = os.pipe()

    def leave_to_the_parent(self) -> None:
        """In one that was forked: the parent's ends are not for us."""
        for fd in (self.shells, self.voices, self.beds, self.word, self.watch):
            os.close(fd)

    def leave_to_the_young(self) -> None:
        """In the parent, when all have been forked."""
        for fd in (self.shell, self.voice, self.bed, self.done, self.unwatched):
            os.close(fd)


class Nursling:
    """One of the processes, as it lives in the nest; `number` is its own."""

    def __init__(self, number: int, nest: Nest) -> None:
        self.number = number
        self._nest = nest

    def hatched(self) -> None:
        """It runs, and holds its lock. If the parent has died, nobody counts, and it goes on by itself."""
        try:
            os.write(self._nest.shell, b".")
        except BrokenPipeError:
            pass
        os.close(self._nest.shell)

    def sleep(self, fifo: int, parent_is_done: Callable[[], None]) -> None:
        """Say that it is present, and sleep until there is a hint in `fifo`, or nobody who would give one.

        `parent_is_done` is called once the parent has done its part for all that are present in time.
        """
        nest = self._nest
        if self._is_in_time():
            ends = [fifo, nest.unwatched]
            if wake.wait([*ends, nest.done], None) == {nest.done}:
                parent_is_done()
                wake.wait(ends, None)
        self._say(nest.bed)
        for fd in (nest.done, nest.unwatched, nest.bed):
            os.close(fd)

    def _is_in_time(self) -> bool:
        """Say that it is present; False if the parent waits no longer, or has died."""
        in_time = self._say(self._nest.voice)
        os.close(self._nest.voice)
        return in_time

    def _say(self, fd: int) -> bool:
        """Write its number; returns whether anybody may read that."""
        try:
            os.write(fd, _NUMBER.pack(self.number))
        except BrokenPipeError:
            return False
        return True


def hatch(
    count: int,
    live: Callable[[Nursling], None],
    part: Callable[[int], bool],
    nurse: Callable[[int], None],
) -> int:
    """Fork `count` processes, each a session of its own that calls `live` and ends with it.

    The parent's `part` is called once all have hatched, with the descriptor for `await_present`. If it gives
    True, those who were present may sleep, and another process calls `nurse` with the descriptor for
    `awake`; those who still sleep are woken when `nurse` has ended, in any way.

    Returns how many have hatched: fewer than `count` if the system refuses another process, or if one has
    died before. What the parent has loaded is frozen first: the garbage collector would otherwise write to
    every page, and nothing of it would be shared.
    """
    gc.collect()
    gc.freeze()
    nest = Nest()
    for number in range(count):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            nest.leave_to_the_parent()
            _be(lambda number=number: live(Nursling(number, nest)))  # type: ignore[misc]
        faults.point("nursery.forked")
    nest.leave_to_the_young()
    # Ends when nobody is left who has neither hatched nor died.
    hatched = 0
    while data := os.read(nest.shells, count):
        hatched += len(data)
    if hatched == count and part(nest.voices):
        for fd in (nest.voices, nest.word):  # Whoever comes now sees that it is late.
            os.close(fd)
        _engage(lambda: nurse(nest.beds))
    os.close(nest.watch)
    return hatched


def _engage(nurse: Callable[[], None]) -> None:
    """Fork the nurse, which holds what we hold. If there is no process for it, all are woken when we end."""
    try:
        pid = os.fork()
    except OSError:
        return
    if pid == 0:
        _be(nurse)
    faults.point("nursery.engaged")


def _be(somebody: Callable[[], None]) -> NoReturn:
    status = 1
    try:
        os.setsid()
        somebody()
        status = 0
    finally:
        os._exit(status)


def await_present(voices: int, patience: int | None = None) -> list[int]:
    """The numbers of those that have said that they are present since this was last asked.

    It waits until all have who have not died, or until none has for so long (µs; PATIENCE).
    """
    told = b""
    patience = PATIENCE if patience is None else patience
    while wake.wait([voices], patience) and (data := os.read(voices, _NUMBER.size * _REPORTS_AT_ONCE)):
        told += data
    return [number for (number,) in _NUMBER.iter_unpack(told)]


def awake(beds: int) -> list[int]:
    """The numbers of those who have woken, once there is one; none when nobody sleeps any more."""
    told = os.read(beds, _NUMBER.size * _REPORTS_AT_ONCE)
    return [number for (number,) in _NUMBER.iter_unpack(told)]


def report(fd: int, kind: int, number: int, lock: tuple[int, int]) -> None:
    """Say that process `number`, which is this one, has come so far."""
    who = identity.of(os.getpid())
    os.write(fd, _REPORT.pack(kind, number, *lock, who.text().encode() if who is not None else b""))


def read(fd: int) -> list[Hatched]:
    """The reports that are there; none if nobody is left to write any. Waits for the first one."""
    data = os.read(fd, _REPORT.size * _REPORTS_AT_ONCE)
    found = []
    for kind, number, dev, ino, who in _REPORT.iter_unpack(data[: len(data) // _REPORT.size * _REPORT.size]):
        found.append(Hatched(kind, number, (dev, ino), who.rstrip(b"\0").decode()))
    return found


def lock_of(path: str) -> tuple[int, tuple[int, int]]:
    """Create and take this process's lock; returns its descriptor and its file."""
    fd = locks.create(path)
    return fd, locks.file_id(fd)

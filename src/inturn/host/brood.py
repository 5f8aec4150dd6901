"""Many detached processes forked from one, and the reports by which they make themselves known.

A report is one short write to a pipe that all of them share: the kernel keeps those apart.
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


def hatch(
    count: int,
    live: Callable[[int, Callable[[], None], Callable[[], None]], None],
    meanwhile: Callable[[int], None],
) -> int:
    """Fork `count` processes, each a session of its own that calls `live` and ends with it.

    `live` gets its number, what it is to call when it has hatched, and what it is to call when it is present:
    it then sleeps until the parent has done its part, or has died. That part is `meanwhile`, called once all
    have hatched with the descriptor for `await_present`.

    Returns how many have hatched: fewer than `count` if the system refuses another process, or if one has
    died before. What the parent has loaded is frozen first: the garbage collector would otherwise write to
    every page, and nothing of it would be shared.
    """
    gc.collect()
    gc.freeze()
    shells, shell = os.pipe()
    voices, voice = os.pipe()
    word, parent = os.pipe()
    for number in range(count):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            for fd in (shells, voices, parent):
                os.close(fd)
            _live(number, shell, voice, word, live)
        faults.point("nursery.forked")
    os.close(shell)
    os.close(voice)
    # Ends when nobody is left who has neither hatched nor died.
    hatched = 0
    while data := os.read(shells, count):
        hatched += len(data)
    os.close(shells)
    if hatched == count:
        meanwhile(voices)
    os.close(parent)
    return hatched


def _live(
    number: int,
    shell: int,
    voice: int,
    word: int,
    live: Callable[[int, Callable[[], None], Callable[[], None]], None],
) -> NoReturn:
    def hatched() -> None:
        os.write(shell, b".")
        os.close(shell)

    def present() -> None:
        try:
            os.write(voice, _NUMBER.pack(number))
        except BrokenPipeError:
            pass  # The parent has died, or waits no longer.
        os.close(voice)
        os.read(word, 1)  # ends when the parent has closed it
        os.close(word)

    status = 1
    try:
        os.setsid()
        live(number, hatched, present)
        status = 0
    finally:
        os._exit(status)


def await_present(voices: int) -> list[int]:
    """The numbers of those that are present: as soon as all are who have not died, or for some time none."""
    told = b""
    while wake.wait([voices], PATIENCE) and (data := os.read(voices, _NUMBER.size * _REPORTS_AT_ONCE)):
        told += data
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

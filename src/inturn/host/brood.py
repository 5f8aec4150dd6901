"""Many detached processes forked from one, and the reports by which they make themselves known.

A report is one short write to a pipe that all of them share: the kernel keeps those apart.
"""

from __future__ import annotations

import gc
import os
import struct

from inturn.host import faults, identity, locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple, NoReturn
else:
    from inturn.core.records import NamedTuple

HATCHED = 1  # it runs, and holds its lock
ACCEPTED = 2  # it has taken its job over
REFUSED = 3  # the number is how many have hatched: the system gives no more processes, or some have died

_REPORT = struct.Struct("<BIQQ96s")
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


def hatch(count: int, live: Callable[[int, Callable[[], None]], None]) -> int:
    """Fork `count` processes, each a session of its own that calls `live` and ends with it.

    `live` gets its number, and what it is to call when it has hatched. Returns how many have: fewer if the
    system refuses another process, or if one has died before. What the parent has loaded is frozen first: the
    garbage collector would otherwise write to every page, and nothing of it would be shared.
    """
    gc.collect()
    gc.freeze()
    shells, shell = os.pipe()
    for number in range(count):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            os.close(shells)
            _live(number, shell, live)
        faults.point("nursery.forked")
    os.close(shell)
    # Ends when nobody is left who has neither hatched nor died.
    hatched = 0
    while data := os.read(shells, count):
        hatched += len(data)
    os.close(shells)
    return hatched


def _live(number: int, shell: int, live: Callable[[int, Callable[[], None]], None]) -> NoReturn:
    def hatched() -> None:
        os.write(shell, b".")
        os.close(shell)

    status = 1
    try:
        os.setsid()
        live(number, hatched)
        status = 0
    finally:
        os._exit(status)


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

"""The only place that asks for the time, and for chance."""

from __future__ import annotations

import os
import time

from inturn.core.moment import Now

_BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
_boot_id = ""


def now() -> Now:
    """Read both clocks: wall and monotonic microseconds, and the boot that the latter belongs to."""
    return Now(time.time_ns() // 1000, time.monotonic_ns() // 1000, boot_id())


def draw() -> float:
    """A uniform random number in [0, 1). The `random` module would cost every supervisor its import."""
    return int.from_bytes(os.urandom(6)) / (1 << 48)


def boot_id() -> str:
    """The kernel's id of the present boot, read once in the life of the process.

    Where the kernel does not tell, it is `unknown-boot`. A value computed from the clocks would change with
    every correction of the wall clock, and a change of it means "everything that ran is dead".
    """
    global _boot_id
    if not _boot_id:
        _boot_id = _read_line(_BOOT_ID_FILE) or "unknown-boot"
    return _boot_id


def _read_line(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 256).decode("ascii", "replace").strip()
    except OSError:
        return ""
    finally:
        os.close(fd)

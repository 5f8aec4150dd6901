"""What /proc tells about processes: which belong to a place, the time they have used, their memory."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable

_TICK = 1 / os.sysconf("SC_CLK_TCK")


def belonging(mark: str) -> list[int]:
    """The processes, other than this one, that name `mark` in their environment or arguments."""
    wanted = os.fsencode(mark)
    return [
        int(name)
        for name in os.listdir("/proc")
        if name.isdigit() and int(name) != os.getpid() and _belongs(int(name), wanted)
    ]


def _belongs(pid: int, mark: bytes) -> bool:
    # Of a zombie, which waits for nothing but to be reaped, both are empty.
    return mark in _read(pid, "environ") or mark in _read(pid, "cmdline")


def _read(pid: int, what: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{what}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def kill(pid: int, mark: str) -> None:
    """Send SIGKILL, unless the pid has meanwhile passed to a process without the mark."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if _belongs(pid, os.fsencode(mark)):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


def seconds_used(pids: Iterable[int]) -> float:
    """The processor time that these processes have used together."""
    return sum(map(_seconds_of, pids))


def _seconds_of(pid: int) -> float:
    # In nanoseconds; `stat` counts hundredths of a second, less than most of a crowd use while it is watched.
    exact = _read(pid, "schedstat").split()
    if exact:
        return int(exact[0]) / 1e9
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK if fields else 0.0


def pss_mib(pid: int) -> float | None:
    """What a process keeps in memory, with its share of what others map as well; None if it has ended."""
    return _mib(_read(pid, "smaps_rollup"), b"Pss")


def rss_mib(pid: int) -> float | None:
    """What a process has in memory, shared or not; None if it has ended."""
    return _mib(_read(pid, "status"), b"VmRSS")


def descriptors(pid: int) -> int | None:
    """How many files a process has open; None if it has ended."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def peak_rss_mib(pid: int) -> float | None:
    """The most that a process ever had in memory, shared or not; None if it has ended."""
    return _mib(_read(pid, "status"), b"VmHWM")


def _mib(text: bytes, field: bytes) -> float | None:
    found = re.search(rb"^" + field + rb":\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) / 1024 if found else None

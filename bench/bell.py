"""How jobs tell that they run, and how they are kept from ending.

Through FIFOs, which cost a job one built-in of the shell.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence

from bench.place import PATIENCE, Failed, Place, wait_readable


class Bell:
    """Rung by the jobs whose command is `ringer`, heard by the benchmark.

    The time of a file would be simpler, but the kernel's clock for those moves in steps of milliseconds.
    """

    def __init__(self, place: Place, name: str = "bell") -> None:
        path, self.fd = place.fifo(name)
        self.ringer = ["sh", "-c", f"echo >{shlex.quote(path)}"]

    def hear(self, count: int = 1) -> float:
        """Wait until it has rung so often; returns when it did the last time (`time.perf_counter`)."""
        while count > 0:
            wait_readable([self.fd])
            heard = time.perf_counter()
            count -= len(os.read(self.fd, count))
        return heard


class Gate:
    """Jobs whose command is `keeper` ring the bell and then run until they are let go, one for each."""

    def __init__(self, place: Place, bell: Bell) -> None:
        path, self._fd = place.fifo("gate")
        place.at_the_end(lambda: self.let_go(64))
        self.keeper = ["sh", "-c", f"{bell.ringer[2]}; read x <{shlex.quote(path)}"]

    def let_go(self, count: int = 1) -> float:
        """Let so many go; returns when that was (`time.perf_counter`)."""
        now = time.perf_counter()
        os.write(self._fd, b"\n" * count)
        return now


def from_start_to_ring(
    place: Place, command: Sequence[str], bell: Bell, env: dict[str, str]
) -> tuple[float, float]:
    """Start a submission of the bell's ringer; returns when its job ran, in milliseconds.

    First since the submission began, then since it was over. The second is negative if the job was quicker
    than the submission's own end.
    """
    start = time.perf_counter()
    pid = place.spawn(command, env)
    handle = os.pidfd_open(pid)
    rang = over = 0.0
    try:
        while not (rang and over):
            waiting = [fd for fd, seen in ((handle, over), (bell.fd, rang)) if not seen]
            ready = wait_readable(waiting, PATIENCE)
            now = time.perf_counter()
            if handle in ready:
                over = now
                _, status = os.waitpid(pid, 0)
                if status:
                    raise Failed(f"{' '.join(command)[:200]}: wait status {status}")
            if bell.fd in ready:
                rang = now
                os.read(bell.fd, 1)
    finally:
        os.close(handle)
    return (rang - start) * 1000, (rang - over) * 1000

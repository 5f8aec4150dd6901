"""Finding the processes of a job by a mark of the test's own, independently of what inturn knows of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

from tests.e2e.harness import DEADLINE, read_proc, until

VARIABLE = "MARK_OF_THE_TEST"


class Mark:
    """A variable that all processes of a job inherit, with a value that nobody else has."""

    def __init__(self) -> None:
        self.value = os.urandom(16).hex()

    @property
    def environment(self) -> dict[str, str]:
        """What the submitter has to have in its environment."""
        return {VARIABLE: self.value}

    def alive(self) -> dict[int, str]:
        """Pid and command line of all processes that carry the mark; a zombie has nothing to carry it in."""
        entry = f"{VARIABLE}={self.value}".encode()
        return {pid: line for pid, environment, line in _processes() if entry in environment}

    def running(self, command: str) -> list[int]:
        """The pids of those that run this command line."""
        return [pid for pid, line in self.alive().items() if line == command]

    def await_running(self, command: str, count: int = 1) -> list[int]:
        """Wait until so many processes run this command line; returns their pids."""

        def found() -> list[int]:
            pids = self.running(command)
            return pids if len(pids) == count else []

        return until(found, f"{count} × {command}", DEADLINE)

    def kill(self, sig: int = signal.SIGKILL) -> None:
        """Signal whoever carries the mark."""
        for pid in self.alive():
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                if pid in self.alive():  # still: it had not passed the number on when it was opened
                    signal.pidfd_send_signal(handle, sig)
            except ProcessLookupError:
                pass
            finally:
                os.close(handle)


def zombies_of(parent: int) -> list[int]:
    """The ended children that a process has not yet reaped."""
    fields = {pid: _stat(pid) for pid in _pids()}
    return [pid for pid, known in fields.items() if known[:2] == ["Z", str(parent)]]


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _processes() -> Iterator[tuple[int, list[bytes], str]]:
    for pid in _pids():
        yield pid, read_proc(pid, "environ").split(b"\0"), _words(read_proc(pid, "cmdline"))


def _words(cmdline: bytes) -> str:
    return cmdline.replace(b"\0", b" ").decode(errors="replace").strip()


def _stat(pid: int) -> list[str]:
    """State, parent, group, session, … or nothing of a process that is gone."""
    return read_proc(pid, "stat").decode(errors="replace").rpartition(")")[2].split()

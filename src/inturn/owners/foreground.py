"""A job that is run by the command that submits it: its output is logged and shown, Ctrl-C cancels it."""

from __future__ import annotations

import os

from inturn.core.moment import MILLISECOND
from inturn.host.logs import SUFFIXES
from inturn.owners.admit import log_of
from inturn.owners.owner import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.owners.tools import Tools

# How often new output is looked for (µs).
SHOW_EVERY = 20 * MILLISECOND

_CHUNK = 1 << 16


class Foreground(Owner):
    """The owner of the one job of a foreground command. Descriptors 1 and 2 get its output."""

    def __init__(self, tools: Tools, fifo: int) -> None:
        super().__init__(tools, fifo)
        self._interrupts_asked = 0
        self._interrupts_heeded = 0
        self._shown: dict[str, int] = {}

    def interrupt(self) -> None:
        """To be called by a signal handler: once to cancel the job, twice to kill it."""
        self._interrupts_asked += 1

    def watch(self) -> None:
        """Run the job to its end, showing what it prints."""
        (task,) = self.tasks
        first = 1
        while self.tasks:
            self.turn()
            # A run has written what it had to when the next one begins: the latest is shown again and again.
            for number in range(first, task.job.runs + 1):
                self._show(log_of(task.job.id, number))
            first = max(task.job.runs, 1)

    def _seek(self) -> list[int]:
        if self._interrupts_asked > self._interrupts_heeded:
            for task in self.tasks:
                task.cancel()
                if self._interrupts_asked > 1:
                    task.kill()
            self._interrupts_heeded = self._interrupts_asked
        return [SHOW_EVERY] if any(task.live for task in self.tasks) else []

    def _show(self, log: str) -> None:
        for target, suffix in enumerate(SUFFIXES, start=1):
            path = os.path.join(self._tools.directory, log + suffix)
            try:
                source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                while data := os.pread(source, _CHUNK, self._shown.get(path, 0)):
                    os.write(target, data)
                    self._shown[path] = self._shown.get(path, 0) + len(data)
            finally:
                os.close(source)

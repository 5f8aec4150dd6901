"""A job that is run by the command that submits it: its output is logged and shown, Ctrl-C cancels it."""

from __future__ import annotations

import os
import sys

from inturn.core.moment import MILLISECOND
from inturn.host.logs import SUFFIXES
from inturn.host.showing import Showing
from inturn.owners.admit import log_of
from inturn.owners.owner import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job
    from inturn.owners.tools import Tools

# How often new output is looked for, and how long each stream may then keep us (µs).
SHOW_EVERY = 20 * MILLISECOND


class Foreground(Owner):
    """The owner of the one job of a foreground command. Descriptors 1 and 2 get its output.

    Whether they take it is nothing to the job: it goes on, and its output is in its log.
    """

    def __init__(self, tools: Tools, fifo: int) -> None:
        super().__init__(tools, fifo)
        self._interrupts_asked = 0
        self._interrupts_heeded = 0
        # One that was closed when we came may be any file by now.
        self._showings = tuple(
            (Showing(target), suffix)
            for target, suffix, present in zip(
                (1, 2), SUFFIXES, (sys.__stdout__, sys.__stderr__), strict=True
            )
            if present is not None
        )
        self._run = 1
        self._is_behind = False

    def interrupt(self) -> None:
        """To be called by a signal handler: once to cancel the job, twice to kill it."""
        self._interrupts_asked += 1

    def watch(self) -> None:
        """Run the job to its end, showing what it prints; then show the rest, unless interrupted."""
        (task,) = self.tasks
        while self.tasks:
            self.turn()
            self._show(task.job)
        while self._is_behind and self._interrupts_heeded == self._interrupts_asked:
            self._show(task.job)

    def refusal(self) -> OSError | None:
        """Why output could not be shown. That its reader has gone is none: it has what it wanted."""
        found = [showing.refusal for showing, _ in self._showings]
        return next((one for one in found if one is not None and not isinstance(one, BrokenPipeError)), None)

    def _seek(self) -> list[int]:
        if self._interrupts_asked > self._interrupts_heeded:
            for task in self.tasks:
                task.cancel()
                if self._interrupts_asked > 1:
                    task.kill()
            self._interrupts_heeded = self._interrupts_asked
        if self._is_behind:
            return [0]
        return [SHOW_EVERY] if any(task.live for task in self.tasks) else []

    def _show(self, job: Job) -> None:
        """Show what there is by now of each run, as far as it is taken."""
        while self._show_run(job.id) and self._run < job.runs:
            # A run has written what it had to when the next one begins.
            self._run += 1

    def _show_run(self, job_id: int) -> bool:
        stem = os.path.join(self._tools.directory, log_of(job_id, self._run))
        shown = [showing.show(stem + suffix, SHOW_EVERY) for showing, suffix in self._showings]
        self._is_behind = not all(shown)
        return not self._is_behind

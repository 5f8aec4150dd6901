"""The process table of a simulated machine as far as the commands of jobs are concerned."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NamedTuple

from inturn.core.moment import SECOND

if TYPE_CHECKING:
    from tests.simulation.process import Process

# An orphan that has ended stays a zombie for so long at most.
_UNREAPED = 2 * SECOND


class Plan(NamedTuple):
    """How a command behaves: times are µs; `children` outlive their leader, `deaf` ignores TERM."""

    lasts: int
    code: int = 0
    children: int = 0
    deaf: bool = False
    refused: bool = False


class Target:
    """The processes of one run: a leader, and its children as one."""

    def __init__(self, token: str, job_id: int, run: int, plan: Plan, parent: Process, mono: int) -> None:
        self.token = token
        self.job_id = job_id
        self.run = run
        self.parent: Process | None = parent
        self.status: tuple[int | None, int | None] | None = None
        self.children = plan.children > 0
        self.reaped = False
        self.ended_at = 0
        self.lost_power = False
        self._plan = plan
        self._ends_at = mono + plan.lasts
        self._halted_at: int | None = None
        self._told_to_end = False

    @property
    def alive(self) -> bool:
        """Whether anything of the run lives."""
        return self.leads or self.children

    @property
    def leads(self) -> bool:
        """Whether the leader lives."""
        return self.status is None

    @property
    def next_change(self) -> int:
        """The monotonic instant at which something happens to it by itself."""
        return self._ends_at if self.leads else self._ends_at + self._plan.children

    def pass_time(self, mono: int) -> None:
        """What has happened by `mono`."""
        if self._halted_at is not None:
            return
        if self.leads and mono >= self._ends_at:
            self.end(self._plan.code, mono)
        if self.children and mono >= self._ends_at + self._plan.children:
            self.children = False
        if self.parent is None and not self.leads and mono >= self.ended_at + _UNREAPED:
            self.reaped = True

    def end(self, code: int | None, mono: int, by_signal: int | None = None) -> None:
        """The leader ends."""
        self.status = (code, by_signal)
        self.ended_at = mono
        self._ends_at = min(self._ends_at, mono)

    def signal(self, number: int, mono: int) -> None:
        """All its processes get a signal."""
        if number == signal.SIGSTOP and self._halted_at is None:
            self._halted_at = mono
        elif number == signal.SIGCONT and self._halted_at is not None:
            self._ends_at += mono - self._halted_at
            self._halted_at = None
            if self._told_to_end:
                self._terminate(mono)
        elif number == signal.SIGTERM:
            self._told_to_end = True
            if self._halted_at is None:
                self._terminate(mono)
        elif number == signal.SIGKILL:
            self._die(signal.SIGKILL, mono)

    def _terminate(self, mono: int) -> None:
        if not self._plan.deaf:
            self._die(signal.SIGTERM, mono)

    def _die(self, number: int, mono: int) -> None:
        self._halted_at = None
        self.children = False
        if self.leads:
            self.end(None, mono, int(number))

    def lose_power(self, mono: int) -> None:
        """The machine goes down."""
        self._die(signal.SIGKILL, mono)
        self.reaped = True
        self.lost_power = True

    def __str__(self) -> str:
        return f"{self.job_id}.{self.run}"

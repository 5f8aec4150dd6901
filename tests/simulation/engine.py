"""An engine whose commands are rows of a simulated process table; it holds its users to their promises."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from inturn.core import transitions
from inturn.core.decide import Ended
from inturn.engines.base import Found, Launch, OutOfResources, StartFailed
from tests.simulation.faults import Violation
from tests.simulation.targets import Target

if TYPE_CHECKING:
    from inturn.core.job import Job
    from tests.simulation.machine import Machine
    from tests.simulation.process import Process

_UNKNOWN = Ended(None, None)

# Of so many runs one cannot be started, because its owner has not what it takes.
_ONE_LACKS_OF = 13


class SimulatedEngine:
    """The engine as one process has it."""

    name = "simulated"

    def __init__(self, machine: Machine, process: Process) -> None:
        self._machine = machine
        self._process = process

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def rest(self) -> None:
        """There is nothing to give up."""

    def start(self, launch: Launch) -> SimulatedRun:
        """Start a command, or refuse to, as its plan says."""
        machine, process = self._machine, self._process
        self._occasion()
        job = machine.job_of(launch)
        run = int(launch.env[b"INTURN_RUN"])
        plan = machine.plan(job)
        if (job.id + run) % _ONE_LACKS_OF == 0:
            raise OutOfResources("too many files are open")
        if plan.refused:
            raise StartFailed("command_not_found", "there is no such command")
        machine.logs.add(launch.log)
        self._occasion()
        self._check_start(machine.job_of(launch), run, launch)
        target = Target(launch.token, job.id, run, plan, process, machine.clock.mono)
        machine.targets[launch.token] = target
        machine.note(f"{process.name} starts {target}: {_told(plan)}")
        self._occasion()
        return SimulatedRun(machine, process, target, True)

    def _check_start(self, job: Job, run: int, launch: Launch) -> None:
        """A command is started once, for a run that is reserved and admitted, and never beside another."""
        others = [
            str(one)
            for one in self._machine.targets.values()
            if one.job_id == job.id and self._machine.must_be_gone(one)
        ]
        if launch.token in self._machine.targets:
            raise Violation(f"run {job.id}.{run} is started again")
        if others:
            raise Violation(f"run {job.id}.{run} is started beside {', '.join(others)}")
        if not transitions.holds_slots(job) or job.runs != run:
            raise Violation(f"run {job.id}.{run} is started, but the job is {job.phase} with run {job.runs}")
        if job.owner != self._process.row:
            raise Violation(f"run {job.id}.{run} is started by another than its owner")

    def find(self, native_id: str, token: str, log: str) -> Found:
        """As the local engine tells what has become of a run: see `inturn.engines.search`."""
        self._occasion()
        machine = self._machine
        if machine.blind():
            return Found("unknown")
        target = machine.targets.get(token)
        if native_id:
            assert target is not None
            if target.leads or not target.reaped:
                return Found("alive", SimulatedRun(machine, self._process, target, True))
            if target.children:
                return Found("alive", SimulatedRun(machine, self._process, target, False))
            return Found("gone", rebooted=native_id.rpartition("@")[2] != machine.clock.boot)
        # What carries no mark any more cannot be found: a zombie is one of those.
        if target is not None and target.alive:
            return Found("alive", SimulatedRun(machine, self._process, target, target.leads))
        return Found("gone" if log in machine.logs else "never")

    def _occasion(self) -> None:
        """Something may happen here; and nothing of this may happen inside a transaction."""
        if self._process.store.connection.in_transaction:
            raise Violation(f"{self._process.name} uses the engine inside a transaction")
        self._process.meets("engine")
        self._process.pauses()


def _told(plan: object) -> str:
    return str(plan).removeprefix("Plan")


class SimulatedRun:
    """A run in the hands of one process; `watched`: it has a descriptor that tells the end of the leader."""

    executable = "/bin/command"
    log_incomplete = False

    def __init__(self, machine: Machine, process: Process, target: Target, watched: bool) -> None:
        self.native_id = f"{target.token}@{machine.clock.boot}"
        self.target = target
        self._machine = machine
        self._process = process
        self._watched = watched
        self._ended: Ended | None = None if watched else _UNKNOWN

    def fileno(self) -> int:
        """The number by which the simulated sleep knows the run."""
        return self._machine.watch(self.target)

    def poll(self) -> Ended | None:
        if self._ended is None and not self.target.leads:
            self._ended = self._collect()
        return self._ended

    def _collect(self) -> Ended:
        target = self.target
        assert target.status is not None
        if target.parent is self._process or not target.reaped or self._machine.tells_status_of_reaped:
            if target.parent is self._process:
                target.reaped = True
            return Ended(*target.status, user_us=1000, max_rss=4096)
        return _UNKNOWN

    def signal(self, sig: int) -> None:
        self.signal_tree(sig)

    def leftovers(self) -> bool:
        return self.target.alive

    def signal_tree(self, sig: int) -> bool:
        """Signal everything; the intent must be in the store, and be that of the owner."""
        job = self._machine.job(self.target.job_id)
        wanted = {signal.SIGTERM: "stopping", signal.SIGKILL: "stopping"}.get(signal.Signals(sig))
        name = signal.Signals(sig).name
        if job.owner != self._process.row or job.runs != self.target.run:
            raise Violation(f"{self._process.name} sends {name} to {self.target}, which is not in its hands")
        if wanted is not None and job.phase != wanted:
            raise Violation(f"{self._process.name} sends {name} to {self.target}: the job is {job.phase}")
        self._machine.note(f"{self._process.name} sends {name} to {self.target}")
        self.target.signal(sig, self._machine.clock.mono)
        self._process.meets("engine")
        return True

    def sample(self) -> None:
        pass

    def close(self, over: bool = True) -> None:
        pass

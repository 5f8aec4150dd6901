"""A simulated machine: its clocks, its processes, the commands of jobs, and a real store on a real file.

The product's own code runs in every simulated process. Only what lies below it is replaced: the clock, the
sleep, the start of other processes and the engine. The locks that prove life are real ones.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any
from unittest import mock

import apsw

from inturn.core.job import Edge, Job
from inturn.core.layout import DATABASE
from inturn.core.moment import SECOND
from inturn.core.spec import Spec
from inturn.host import faults, store_dir
from inturn.owners import owner as owner_module
from inturn.owners import recover
from inturn.service import acting, nursery, relaunch
from inturn.store import gates, jobs, owners, specs
from inturn.store.db import Patience, Store, open_store
from tests.simulation.checker import Checker
from tests.simulation.clock import Clock
from tests.simulation.engine import SimulatedEngine
from tests.simulation.faults import Connection
from tests.simulation.process import Command, Process, Resident, Supervisor
from tests.simulation.targets import Plan, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from inturn.engines.base import Launch
    from inturn.service.context import Context
    from inturn.service.owned import Newcomer

# Interruptions may themselves be interrupted, but not for ever.
_DEEPEST = 3


def make_template(directory: str) -> str:
    """A store without jobs, to be copied: that is cheaper than making a schema for each history."""
    store = open_store(directory, lambda _: None)
    store.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    store.close()
    return os.path.join(directory, DATABASE)


class Machine:
    """`interlude` is called when a process may be interrupted, and `plan` says how a command behaves."""

    def __init__(self, directory: str, template: str, rng: Random) -> None:
        self.directory = directory
        self.path = os.path.join(directory, DATABASE)
        store_dir.create_store_dirs(directory)
        shutil.copyfile(template, self.path)
        self.rng = rng
        self.clock = Clock()
        self.processes: list[Process] = []
        self.running: list[Process] = []
        self._left: list[Connection] = []
        self.targets: dict[str, Target] = {}
        self.logs: set[str] = set()
        self.hands: dict[tuple[int, int], set[int]] = {}
        self.edited: set[int] = set()
        self.cancelled: set[tuple[int, int]] = set()
        self.asked_to_cancel: set[tuple[int, int]] = set()
        self.history: list[str] = []
        self.kinds: set[str] = set()
        self.calm = False
        self.blind_once_in = 0
        self.interludes = 0
        self.tells_status_of_reaped = rng.random() < 0.5
        self.interrupt: Callable[[], None] = lambda: None
        self.plan: Callable[[Job], Plan] = lambda _: Plan(1)
        self._looking = Store(apsw.Connection(self.path), self.path, lambda _: None, Patience())
        self.checker = Checker(self._looking, self)

    # --- what happened, for people

    def note(self, text: str) -> None:
        """A line in the history."""
        depth = len(self.running)
        self.history.append(f"{self.clock.told()}  {'    ' * depth}{text}")

    # --- processes

    @property
    def residents(self) -> list[Resident]:
        """The living processes that own jobs."""
        return [one for one in self.processes if isinstance(one, Resident) and one.alive]

    def kill(self, process: Process) -> None:
        """End a process at once: its lock is free, and its children are nobody's."""
        if process.alive:
            process.die()
            for target in self.targets.values():
                if target.parent is process:
                    target.parent = None

    def connect(self, process: Process) -> Connection:
        """A connection for a process: one that another has left, since to open one takes its time."""
        connection = self._left.pop() if self._left else Connection(self.path)
        connection.process = process
        return connection

    def disconnect(self, process: Process) -> None:
        """A process has ended: what it had not committed has not happened."""
        if process.connection.process is process:
            if process.connection.in_transaction:
                process.connection.execute("ROLLBACK")
            self._left.append(process.connection)

    def interlude(self) -> None:
        """Others have the processor for a while."""
        self.interludes += 1
        if not self.calm and len(self.running) < _DEEPEST:
            self.interrupt()

    def command(self) -> Command:
        """A process that does one thing."""
        return Command(self)

    def by_row(self, row: int | None) -> Process | None:
        """The process behind an id of the registry."""
        return next((one for one in self.processes if row and one.row == row), None)

    # --- what the store asks of the system

    def ring(self, tokens: Iterable[str]) -> None:
        """Hints; some are lost, or all of them."""
        if faults.hints_are_lost:
            return
        for token in sorted(tokens):
            for one in self.residents:
                if one.token == token and self.rng.random() < 0.8:
                    one.rung = True

    def look(self, process: Process) -> None:
        """Something has been committed: every invariant must hold."""
        self.checker.look(process)

    def job(self, job_id: int) -> Job:
        """A job as it is in the store."""
        job = jobs.load(self._looking, job_id)
        assert job is not None
        return job

    def spec(self, job_id: int) -> Spec:
        """What was asked for."""
        return specs.load(self._looking, job_id)

    def edges(self, job_id: int) -> list[Edge]:
        """The dependencies of a job."""
        return gates.edges(self._looking, job_id)

    def must_be_gone(self, target: Target) -> bool:
        """Whether anything of a run lives that may not outlive its slots: children may be left on purpose."""
        return target.leads or (target.children and not self.spec(target.job_id).leave_children)

    def started(self) -> set[tuple[int, int]]:
        """The runs that have ever had a process."""
        return {(target.job_id, target.run) for target in self.targets.values()}

    # --- what the engine asks of the system

    def job_of(self, launch: Launch) -> Job:
        """The job that a command is started for."""
        return self.job(int(launch.env[b"INTURN_JOB_ID"]))

    def blind(self) -> bool:
        """Whether nothing can be told of a process just now."""
        return not self.calm and self.blind_once_in > 0 and not self.rng.randrange(self.blind_once_in)

    def watch(self, target: Target) -> int:
        """The descriptor of a target."""
        return list(self.targets).index(target.token)

    def has_ended(self, descriptor: int) -> bool:
        """Whether the target of a descriptor has ended."""
        return not list(self.targets.values())[descriptor].leads

    def pass_time(self, duration: int) -> None:
        """Let time pass, and happen what happens by itself."""
        self.clock.advance(duration)
        for target in self.targets.values():
            target.pass_time(self.clock.mono)

    def reboot(self, down: int) -> None:
        """Lose power, and come up again."""
        for process in self.processes:
            self.kill(process)
        for target in self.targets.values():
            target.lose_power(self.clock.mono)
        self.clock.reboot(down)

    # --- what the product starts

    def recover(self, process: Process) -> None:
        """As `inturn.app.recover`, in some process."""
        kit = recover.Kit(
            process.store,
            SimulatedEngine(self, process),
            self.clock.now,
            self.rng.random,
            self.directory,
            lambda orphans: relaunch.relaunch(process.context, orphans),
        )
        for finding in recover.reconcile(kit, owners.all_of_them(process.store)):
            self.kinds.add(finding.what)
            self.note(f"{process.name} finds job {finding.job_id}: {finding.what}")

    def hatch(
        self, _context: Context, count: int, store_them: Callable[[list[Newcomer]], Any]
    ) -> tuple[Any, set[int]]:
        """As `inturn.service.nursery.hatch`; some supervisors answer too late."""
        fresh = [Supervisor(self) for _ in range(count)]
        try:
            result = store_them([one.newcomer for one in fresh])
        finally:
            for one in fresh:
                one.told = True
        answered: set[int] = set()
        for number, one in enumerate(fresh):
            if self.calm or self.rng.random() < 0.9:
                one.turn()
                answered.update([number] if one.accepted else [])
        return result, answered

    def sleep(self, seconds: float) -> None:
        """As `time.sleep`, in a command."""
        self.pass_time(round(seconds * SECOND))
        if not self.calm:
            self.interlude()

    @contextmanager
    def in_charge(self) -> Iterator[None]:
        """While this lasts, the product's code runs on this machine."""
        with (
            mock.patch.object(owner_module, "wake", _Sleep(self)),
            mock.patch.object(nursery, "hatch", self.hatch),
            mock.patch.object(acting, "sleep", self.sleep),
        ):
            try:
                yield
            finally:
                for process in self.processes:
                    self.kill(process)
                for connection in self._left:
                    connection.close()
                self._looking.close()


class _Sleep:
    """Stands for `inturn.host.wake`: who sleeps gives the processor away, and who is rung is woken."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def drain(self, fifo: int) -> None:
        self._sleeper(fifo).rung = False

    def wait(self, fds: Sequence[int], timeout: int) -> set[int]:
        fifo, *watched = fds
        self._sleeper(fifo).sleep(tuple(watched), timeout)
        return set()

    def _sleeper(self, fifo: int) -> Resident:
        found = self._machine.processes[fifo]
        assert isinstance(found, Resident)
        return found

"""Simulated processes: each has a connection of its own, runs the product's code, sleeps, may be killed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from inturn.errors import InturnError
from inturn.host import locks, paths
from inturn.owners import supervisor
from inturn.owners.owner import Owner
from inturn.owners.tools import Tools
from inturn.owners.worker import Orders, Worker
from inturn.service.context import Context
from inturn.service.intake import AlreadyThere
from inturn.service.owned import Newcomer
from inturn.store import owners
from inturn.store.db import Patience, Store
from inturn.store.transaction import CommitUnknown
from tests.simulation.engine import SimulatedEngine
from tests.simulation.faults import Killed, Trouble, Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.machine import Machine

# Statements between two sleeps: a history has some thousands.
_PATIENCE = 100_000


class Process:
    """What all kinds have in common. `row` is its id in the registry, 0 if it has none."""

    kind = "command"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.number = len(machine.processes)
        self.name = f"{self.kind}-{self.number}"
        self.alive = True
        self.suspended = False
        self.busy = False
        self.row = 0
        self.trouble = Trouble()
        self.pauses_before_interlude = -1
        self.statements = 0
        self.connection = machine.connect(self)
        self.store = Store(self.connection, machine.path, machine.ring, Patience())
        self.context = Context(machine.directory, self.store, machine.clock.now, "", "", (), machine.note)
        machine.processes.append(self)

    def run(self, work: Callable[[], Any]) -> Any:
        """Let it work until it sleeps, ends or is killed. An error that nobody caught ends it."""
        self.busy = True
        self.statements = 0
        self.machine.running.append(self)
        try:
            return work()
        except Killed as killed:
            if killed.process is not self:
                raise
        except AlreadyThere:
            self.machine.note(f"{self.name} is told that such a job is there")
        except (InturnError, CommitUnknown) as error:
            self.machine.note(
                f"{self.name} ends: {getattr(error, 'code', 'whether it was committed is unknown')}"
            )
            self.machine.kill(self)
        finally:
            self.machine.running.pop()
            self.busy = False
            if not self.alive:
                self.machine.disconnect(self)
        return None

    def meets(self, occasion: str) -> str | None:
        """What befalls it here; raises Killed if that is its end."""
        kind = self.trouble.strikes(occasion)
        if kind is not None:
            self.machine.note(f"{self.name}: {kind} ({occasion})")
        if kind in ("crash", "death"):
            self.machine.kill(self)
            raise Killed(self)
        return kind

    def pauses(self) -> None:
        """Between two steps of it others may do something, kill it for instance."""
        self.pauses_before_interlude -= 1
        if self.pauses_before_interlude == -1:
            self.machine.interlude()
        if not self.alive:
            raise Killed(self)

    def goes_on(self) -> None:
        """Count a statement: whoever runs too many of them before it sleeps or ends never will."""
        self.statements += 1
        if self.statements > _PATIENCE:
            raise Violation(f"{self.name} has run {_PATIENCE} statements and goes on and on")

    def has_committed(self) -> None:
        self.machine.look(self)

    def die(self) -> None:
        """What the system does for a process that has ended; `Machine.kill` does the rest."""
        self.alive = False
        if not self.busy:
            self.machine.disconnect(self)

    def __str__(self) -> str:
        return self.name


class Command(Process):
    """A process that does one thing and ends."""

    def do(self, work: Callable[[Context], Any]) -> Any:
        """The result of the work, None if it failed."""
        result = self.run(lambda: work(self.context))
        self.machine.kill(self)
        return result


class Resident(Process):
    """A process that owns jobs: it is proven alive by its lock, and sleeps between its turns."""

    alone = True

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.token = f"{self.name}-token"
        self.identity = f"{100_000 + self.number}:1:{machine.clock.boot}:1"
        self.sleeps_until = machine.clock.mono
        self.watches: tuple[int, ...] = ()
        self.rung = False
        self._lock_path, _ = paths.owner_files(machine.directory, self.token)
        self._lock = locks.create(self._lock_path)
        self.lock_file = locks.file_id(self._lock)

    @property
    def runnable(self) -> bool:
        """Whether it would get the processor now."""
        machine = self.machine
        return (
            self.rung
            or self.sleeps_until <= machine.clock.mono
            or any(machine.has_ended(number) for number in self.watches)
        )

    def turn(self) -> None:
        """From one sleep to the next."""
        if not self.alive or self.suspended or self.busy:
            return
        self.sleeps_until = self.machine.clock.mono
        self.run(self._turn)

    def _turn(self) -> None:
        raise AssertionError("a kind of process says what it does")

    def sleep(self, watched: tuple[int, ...], duration: int) -> None:
        self.watches = watched
        self.sleeps_until = self.machine.clock.mono + duration

    def die(self) -> None:
        os.close(self._lock)
        super().die()

    def _tools(self) -> Tools:
        machine = self.machine
        return Tools(
            self.store,
            SimulatedEngine(machine, self),
            machine.clock.now,
            machine.rng.random,
            machine.directory,
            self.row,
            lambda: machine.recover(self),
            self.alone,
        )

    def _leave(self) -> None:
        """End in good order."""
        self.machine.note(f"{self.name} leaves")
        self.machine.kill(self)
        paths.discard(self._lock_path)


class Supervisor(Resident):
    """As `inturn.supervision.supervise`. `told`: whoever started it has stored its job, or has died."""

    kind = "supervisor"

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.told = False
        self.accepted = False
        self._owner: Owner | None = None

    @property
    def newcomer(self) -> Newcomer:
        return Newcomer(self.token, self.identity, self.lock_file)

    def turn(self) -> None:
        if self.told:
            super().turn()

    def _turn(self) -> None:
        if self._owner is None:
            if not self._take_over():
                return
        else:
            self._owner.turn()
        assert self._owner is not None
        if not self._owner.tasks:
            supervisor.say_goodbye(self._tools())
            self._leave()

    def _take_over(self) -> bool:
        me = owners.by_token(self.store, self.token)
        if me is None:
            self._leave()
            return False
        self.row = me.id
        tools = self._tools()
        self._owner = Owner(tools, self.number)
        self.accepted = supervisor.take_over(tools, self._owner)
        return True


class WorkerProcess(Resident):
    """As `inturn.app.run_worker`."""

    kind = "worker"
    alone = False

    def __init__(self, machine: Machine, orders: Orders) -> None:
        super().__init__(machine)
        self.orders = orders
        self.worker: Worker | None = None
        self._asked = False

    def ask_to_stop(self) -> None:
        if self.worker is not None:
            self._asked = True
            self.worker.ask_to_stop()

    def _turn(self) -> None:
        if self.worker is None:
            with self.store.writing():
                self.row = owners.register(
                    self.store,
                    "worker",
                    self.token,
                    self.identity,
                    self.lock_file,
                    "0",
                    self.machine.clock.now(),
                )
            self.worker = Worker(self._tools(), self.number, self.orders)
            self.worker.begin()
        interludes = self.machine.interludes
        # One that runs something may have decided earlier that it would leave.
        decides_now = not any(task.holds_slots for task in self.worker.tasks)
        self.worker.turn()
        if self.worker.finished():
            decides_now = decides_now and interludes == self.machine.interludes
            if decides_now and self.orders.drain and not self._asked:
                self.machine.checker.expect_settled(self.orders.queues)
            self.worker.end()
            self._leave()

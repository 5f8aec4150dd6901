"""What the system and chance do to a simulated machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inturn.core.moment import HOUR, MILLISECOND, SECOND
from tests.simulation import plans
from tests.simulation.process import Resident, WorkerProcess

if TYPE_CHECKING:
    from tests.simulation.machine import Machine
    from tests.simulation.targets import Target


class System:
    """Gives and takes the processor, the time, and lives."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._rng = machine.rng

    def _some_resident(self, awake: bool = False) -> Resident | None:
        able = [one for one in self._machine.residents if not one.suspended and not one.busy]
        if awake:
            able = [one for one in able if one.runnable] or able
        return self._rng.choice(able) if able else None

    def turn(self) -> None:
        """Somebody has the processor."""
        one = self._some_resident(awake=self._rng.random() < 0.7)
        if one is not None:
            self._let(one)

    def _let(self, one: Resident) -> None:
        if self._rng.random() < 0.25:
            one.pauses_before_interlude = self._rng.randint(0, 5)
        self._machine.note(f"{one} turns")
        one.turn()

    def trouble(self) -> None:
        """Somebody has the processor, and something goes wrong."""
        one = self._some_resident()
        if one is not None:
            one.trouble.fault = plans.fault(self._rng)
            self._let(one)
            one.trouble.fault = None

    def kill(self) -> None:
        """Somebody gets a KILL, whatever it is doing."""
        residents = self._machine.residents
        if residents:
            one = self._rng.choice(residents)
            self._machine.note(f"{one} is killed")
            self._machine.kill(one)

    def suspend(self) -> None:
        """Somebody gets a STOP."""
        one = self._some_resident()
        if one is not None:
            self._machine.note(f"{one} is suspended")
            one.suspended = True

    def resume(self) -> None:
        """Somebody who was suspended goes on."""
        for one in self._machine.residents:
            if one.suspended:
                self._machine.note(f"{one} goes on")
                one.suspended = False
                return

    def work(self) -> None:
        """Somebody starts a worker."""
        workers = [one for one in self._machine.residents if isinstance(one, WorkerProcess)]
        if len(workers) < 3:
            orders = plans.orders(self._rng)
            worker = WorkerProcess(self._machine, orders)
            self._machine.note(f"{worker}: {orders}")
            self._let(worker)

    def stop_worker(self) -> None:
        """Somebody asks a worker to stop, perhaps once more."""
        workers = [one for one in self._machine.residents if isinstance(one, WorkerProcess)]
        if workers:
            one = self._rng.choice(workers)
            self._machine.note(f"{one} is asked to stop")
            one.ask_to_stop()

    def time(self) -> None:
        """Time passes."""
        duration = self._rng.choice(
            (MILLISECOND, 50 * MILLISECOND, 300 * MILLISECOND, SECOND, 3 * SECOND, 11 * SECOND)
        )
        self._machine.pass_time(duration)

    def jump(self) -> None:
        """The wall clock is set."""
        by = self._rng.choice((-HOUR, -5 * SECOND, 5 * SECOND, HOUR))
        self._machine.note(f"the wall clock is set by {by / SECOND:.0f} s")
        self._machine.clock.jump(by)

    def reboot(self) -> None:
        """The machine goes down and comes up again."""
        if not self._machine.running:
            self._machine.note("the machine reboots")
            self._machine.reboot(self._rng.choice((5, 60)) * SECOND)

    def end_target(self) -> None:
        """A command ends, now."""
        living = [one for one in self._machine.targets.values() if one.leads]
        if living:
            one: Target = self._rng.choice(living)
            code = self._rng.choice((0, 0, 1, 2))
            self._machine.note(f"{one} ends with {code}")
            one.end(code, self._machine.clock.mono)

    def gate(self) -> None:
        """A file comes into being that somebody may wait for."""
        path = os.path.join(self._machine.directory, self._rng.choice(plans.GATES))
        with open(path, "w"):
            self._machine.note(f"{os.path.basename(path)} is there")

"""The random phase of a history: what users, the system and chance do, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inturn.core.admission import STORE
from inturn.store import settings
from inturn.store.settings import Pool
from tests.simulation import plans
from tests.simulation.system import System
from tests.simulation.users import Users

if TYPE_CHECKING:
    from collections.abc import Callable

    from inturn.service.context import Context
    from tests.simulation.machine import Machine

# How often each step is taken. Each history leaves some out, so that the others are seen undisturbed.
WEIGHTS = {
    "turn": 40,
    "add": 5,
    "submit": 6,
    "time": 12,
    "end_target": 6,
    "trouble": 8,
    "kill": 2,
    "suspend": 2,
    "resume": 3,
    "recover": 3,
    "cancel": 2,
    "pause": 2,
    "resume_job": 2,
    "retry": 3,
    "rerun": 0.5,
    "edit": 1,
    "hold": 1,
    "release": 1,
    "resize": 2,
    "work": 4,
    "stop_worker": 2,
    "jump": 1,
    "reboot": 0.4,
    "gate": 1,
}
_NEEDED = ("turn", "add", "submit", "time", "work")

# What may come between two steps of another process.
_IN_BETWEEN = (
    *("turn", "turn", "turn", "add", "submit", "time", "end_target", "kill", "recover"),
    *("cancel", "pause", "resume_job", "retry", "edit", "hold", "resize"),
)

_MOST_JOBS = 14


class Steps:
    """Takes random steps on a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._rng = machine.rng
        self._weights = {
            name: weight for name, weight in WEIGHTS.items() if name in _NEEDED or self._rng.random() < 0.75
        }
        self._in_between = [name for name in _IN_BETWEEN if name in self._weights]
        self._crowded = self._rng.random() < 0.25
        most_jobs = self._rng.randint(3, _MOST_JOBS) + 6 * self._crowded
        users = Users(machine, self._crowded, most_jobs, "trouble" in self._weights)
        self._steps = _named(System(machine), users)
        machine.blind_once_in = self._rng.choice((0, 0, 6))
        machine.interrupt = lambda: self._take(self._rng.choice(self._in_between))
        machine.plan = lambda _: plans.plan(self._rng, self._crowded)

    def begin(self) -> None:
        """Give the store its capacities, and perhaps some jobs and workers."""
        shared = self._rng.choice((1, 1, 2))
        limits = [
            Pool("disk", self._rng.randint(3, 4), False),
            Pool("gpu", 2 * shared, False, ("0", "1"), per_device=shared),
        ]
        if self._crowded or self._rng.random() < 0.6:
            limits.append(Pool(STORE, self._rng.randint(3, 5), False))

        def configure(context: Context) -> None:
            assert context.store is not None
            with context.store.writing():
                for pool in limits:
                    settings.set_pool(context.store, pool)

        self._machine.note(f"capacities: {[(pool.name, pool.slots) for pool in limits]}")
        self._machine.command().do(configure)
        for _ in range(self._rng.randint(0, 4)):
            self._take(self._rng.choice(("add", "submit", "work")))

    def random_step(self) -> None:
        """Take one of them."""
        names = list(self._weights)
        self._take(self._rng.choices(names, list(self._weights.values()))[0])

    def _take(self, name: str) -> None:
        self._steps[name]()


def _named(system: System, users: Users) -> dict[str, Callable[[], None]]:
    """The steps by the names that they have in WEIGHTS."""
    return {
        "turn": system.turn,
        "trouble": system.trouble,
        "kill": system.kill,
        "suspend": system.suspend,
        "resume": system.resume,
        "work": system.work,
        "stop_worker": system.stop_worker,
        "time": system.time,
        "jump": system.jump,
        "reboot": system.reboot,
        "end_target": system.end_target,
        "gate": system.gate,
        "add": users.add,
        "submit": users.submit,
        "cancel": users.cancel,
        "pause": users.pause,
        "resume_job": users.resume,
        "retry": users.retry,
        "rerun": users.rerun,
        "edit": users.edit,
        "hold": users.hold,
        "release": users.release,
        "recover": users.recover,
        "resize": users.resize,
    }

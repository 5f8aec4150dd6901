"""The second phase of a history: nothing goes wrong any more, and everything must come to its end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inturn.core.held import Lane
from inturn.core.moment import HOUR, MILLISECOND, SECOND
from inturn.owners.worker import Orders
from inturn.service import capacity, pausing
from tests.simulation import plans, verdicts
from tests.simulation.faults import Violation
from tests.simulation.process import WorkerProcess

if TYPE_CHECKING:
    from inturn.service.context import Context
    from tests.simulation.machine import Machine

_ROUNDS = 600
_SHORTEST = 100 * MILLISECOND
_LONGEST = HOUR


def settle(machine: Machine) -> None:
    """Let everything come to its end. Raises Violation if something does not, or not as it should."""
    machine.note("from here on nothing goes wrong any more")
    machine.calm = True
    machine.plan = lambda _: plans.good_plan(machine.rng)
    for resident in machine.residents:
        resident.suspended = False
        resident.trouble.fault = None
    for name in plans.GATES:
        with open(os.path.join(machine.directory, name), "w"):
            pass
    machine.command().do(_make_room)
    if machine.rng.random() < 0.5:
        _recover(machine)
    _serve(machine)
    _run_until_ended(machine)
    for job in machine.checker.seen.jobs.values():
        verdicts.judge(machine, job)
    _close_down(machine)


def _make_room(context: Context) -> None:
    capacity.set_limit(context, 6)
    capacity.set_pool(context, "disk", 4)
    lanes = [*(Lane("queue", name) for name in plans.QUEUES), *(Lane("pool", name) for name in plans.POOLS)]
    pausing.release(context, lanes, False)
    assert context.store is not None
    paused = [row[0] for row in context.store.execute("SELECT id FROM jobs WHERE phase = 'paused'")]
    pausing.resume(context, paused)


def _recover(machine: Machine) -> None:
    command = machine.command()
    machine.note(f"{command}: recover")
    command.do(lambda _: machine.recover(command))


def _serve(machine: Machine) -> None:
    worker = WorkerProcess(machine, Orders(dict.fromkeys(plans.QUEUES), places=2))
    machine.note(f"{worker} serves all queues")
    worker.turn()


def _run_until_ended(machine: Machine) -> None:
    """Give the processor to whoever is awake; when nothing happens, let ever more time pass."""
    pause = _SHORTEST
    for _ in range(_ROUNDS):
        if _all_ended(machine):
            return
        events = machine.checker.seen.last_event
        for resident in machine.residents:
            if resident.runnable:
                resident.turn()
        pause = _SHORTEST if machine.checker.seen.last_event > events else min(2 * pause, _LONGEST)
        machine.pass_time(pause)
    left = [
        f"{job.id} {job.status}" for job in machine.checker.seen.jobs.values() if job.phase != "completed"
    ]
    raise Violation(f"these jobs never end: {', '.join(left)}")


def _all_ended(machine: Machine) -> bool:
    return all(job.phase == "completed" for job in machine.checker.seen.jobs.values())


def _close_down(machine: Machine) -> None:
    """Stop the workers; nothing may be left in the registry, and nothing of a run alive."""
    for _ in range(100):
        for resident in machine.residents:
            if isinstance(resident, WorkerProcess):
                resident.ask_to_stop()
            resident.turn()
        if not machine.residents:
            break
        machine.pass_time(SECOND)
    if machine.residents:
        raise Violation(f"these processes never end: {', '.join(map(str, machine.residents))}")
    _recover(machine)
    machine.checker.expect_nothing_left()

"""The random phase of a history: what users, the system and chance do to a simulated machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inturn.core.admission import STORE
from inturn.core.moment import HOUR, MILLISECOND, SECOND
from inturn.service import capacity, control, edit, enqueue, nursery, pausing, rerun, retry
from inturn.store import settings
from inturn.store.settings import Pool
from tests.simulation import plans
from tests.simulation.faults import KINDS, Fault
from tests.simulation.process import Resident, WorkerProcess
from tests.simulation.targets import Target

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

MOST_JOBS = 14


class Steps:
    """Takes random steps on a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._rng = machine.rng
        self._weights = {
            name: weight for name, weight in WEIGHTS.items() if name in _NEEDED or self._rng.random() < 0.75
        }
        self._in_between = [name for name in _IN_BETWEEN if name in self._weights]
        self._most_jobs = self._rng.randint(3, MOST_JOBS)
        machine.blind_once_in = self._rng.choice((0, 0, 6))
        machine.interrupt = lambda: self.take(self._rng.choice(self._in_between))
        machine.plan = lambda _: plans.plan(self._rng)

    def begin(self) -> None:
        """Give the store its capacities."""
        limits = [
            Pool("disk", self._rng.randint(3, 4), False),
            Pool("gpu", 2 * self._shared(), False, ("0", "1")),
        ]
        limits[1] = limits[1]._replace(per_device=(limits[1].slots or 2) // 2)
        if self._rng.random() < 0.6:
            limits.append(Pool(STORE, self._rng.randint(3, 5), False))

        def configure(context: Context) -> None:
            assert context.store is not None
            with context.store.writing():
                for pool in limits:
                    settings.set_pool(context.store, pool)

        self._machine.note(f"capacities: {[(pool.name, pool.slots) for pool in limits]}")
        self._machine.command().do(configure)
        for _ in range(self._rng.randint(0, 4)):
            self.take(self._rng.choice(("add", "submit", "work")))

    def _shared(self) -> int:
        return self._rng.choice((1, 1, 2))

    def random_step(self) -> None:
        """Take one of them."""
        names = list(self._weights)
        self.take(self._rng.choices(names, list(self._weights.values()))[0])

    def take(self, name: str) -> None:
        """Take this one."""
        step: Callable[[], None] = getattr(self, name)
        step()

    # --- processes

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
            one.trouble.fault = self._fault()
            self._let(one)
            one.trouble.fault = None

    def _fault(self) -> Fault:
        kind = self._rng.choice(KINDS)
        return Fault(kind, self._rng.choice((0, 1, 2, 5, 20)) if kind == "crash" else self._rng.randint(0, 3))

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

    # --- time and the system

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

    # --- users

    def _command(self, told: str, work: Callable[[Context], object]) -> None:
        command = self._machine.command()
        self._machine.note(f"{command}: {told}")
        if not self._machine.calm and "trouble" in self._weights and self._rng.random() < 0.15:
            command.trouble.fault = self._fault()
        if self._rng.random() < 0.15:
            command.pauses_before_interlude = self._rng.randint(0, 3)
        command.do(work)

    def add(self) -> None:
        """Somebody adds jobs to queues."""
        self._submit(False)

    def submit(self) -> None:
        """Somebody starts supervised jobs."""
        self._submit(True)

    def _submit(self, supervised: bool) -> None:
        machine = self._machine
        known = list(machine.checker.seen.jobs)
        if len(known) >= self._most_jobs:
            return
        wanted = plans.submissions(self._rng, machine.clock.now(), known, supervised)
        wanted = [one._replace(spec=one.spec._replace(cwd=os.fsencode(machine.directory))) for one in wanted]
        call = nursery.run_many if supervised else enqueue.add
        self._command(
            f"{'run' if supervised else 'add'} {len(wanted)}", lambda context: call(context, wanted)
        )

    def _chosen(self, *phases: str) -> list[int]:
        """Some jobs, mostly ones in these phases."""
        jobs = self._machine.checker.seen.jobs.values()
        fitting = [job.id for job in jobs if job.phase in phases]
        among = fitting if fitting and self._rng.random() < 0.8 else [job.id for job in jobs]
        return self._rng.sample(among, min(len(among), self._rng.choice((1, 1, 2))))

    def cancel(self) -> None:
        """Somebody cancels jobs."""
        chosen = self._chosen("waiting", "queued", "starting", "running", "paused", "stopping")
        if chosen:
            self._command(f"cancel {chosen}", lambda context: self._cancel(context, chosen))

    def _cancel(self, context: Context, chosen: list[int]) -> None:
        jobs = self._machine.checker.seen.jobs
        self._machine.asked_to_cancel.update((job_id, jobs[job_id].round) for job_id in chosen)
        for result in control.cancel(context, chosen):
            if result.verdict != "ended":
                self._machine.cancelled.add((result.job.id, result.job.round))

    def pause(self) -> None:
        """Somebody pauses jobs."""
        chosen = self._chosen("waiting", "queued", "running")
        if chosen:
            self._command(f"pause {chosen}", lambda context: pausing.pause(context, chosen))

    def resume_job(self) -> None:
        """Somebody lets jobs go on."""
        chosen = self._chosen("paused")
        if chosen:
            self._command(f"resume {chosen}", lambda context: pausing.resume(context, chosen))

    def retry(self) -> None:
        """Somebody wants another round."""
        chosen = self._chosen("completed")
        deep = self._rng.random() < 0.5
        if chosen:
            told = f"retry {chosen}" + " with dependents" * deep
            self._command(told, lambda context: retry.retry(context, chosen, deep))

    def rerun(self) -> None:
        """Somebody wants another job like an old one."""
        chosen = self._chosen("completed")
        gated = self._rng.random() < 0.5
        if chosen and len(self._machine.checker.seen.jobs) < self._most_jobs:
            self._command(f"rerun {chosen}", lambda context: rerun.rerun(context, chosen, gated))

    def edit(self) -> None:
        """Somebody wants something else, before it is started."""
        chosen = self._chosen("waiting", "queued")
        changes = plans.changes(self._rng, self._machine.clock.now())
        if chosen:
            self._command(f"edit {chosen}: {changes}", lambda context: edit.edit(context, chosen, changes))

    def hold(self) -> None:
        """Somebody pauses a queue or a pool."""
        lane, deep = plans.lane(self._rng), self._rng.random() < 0.3
        self._command(f"hold {lane}", lambda context: pausing.hold(context, [lane], deep))

    def release(self) -> None:
        """Somebody lets a queue or a pool go on."""
        lane, deep = plans.lane(self._rng), self._rng.random() < 0.5
        self._command(f"release {lane}", lambda context: pausing.release(context, [lane], deep))

    def recover(self) -> None:
        """Somebody recovers what the dead have left."""
        machine = self._machine
        self._command("recover", lambda _: machine.recover(machine.running[-1]))

    def resize(self) -> None:
        """Somebody changes a capacity."""
        name = self._rng.choice((STORE, "disk"))
        slots = self._rng.choice((1, 2, 3, 4, None))
        self._command(f"resize {name or 'store'} to {slots}", lambda context: _resize(context, name, slots))

    # --- workers

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


def _resize(context: Context, name: str, slots: int | None) -> None:
    if name == STORE:
        capacity.set_limit(context, slots)
    else:
        capacity.set_pool(context, name, slots)

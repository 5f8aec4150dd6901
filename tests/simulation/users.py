"""What users do to a simulated machine: each verb in a process of its own, in which things may go wrong."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inturn.core.admission import STORE
from inturn.service import capacity, control, edit, enqueue, nursery, pausing, rerun, retry
from tests.simulation import plans

if TYPE_CHECKING:
    from collections.abc import Callable

    from inturn.service.context import Context
    from tests.simulation.machine import Machine


class Users:
    """Ask for jobs, `most_jobs` at most, and for this and that. `crowded`: they want many at once."""

    def __init__(self, machine: Machine, crowded: bool, most_jobs: int, trouble: bool) -> None:
        self._machine = machine
        self._rng = machine.rng
        self._crowded = crowded
        self._most_jobs = most_jobs
        self._trouble = trouble

    def _command(self, told: str, work: Callable[[Context], object]) -> None:
        command = self._machine.command()
        self._machine.note(f"{command}: {told}")
        if self._trouble and not self._machine.calm and self._rng.random() < 0.15:
            command.trouble.fault = plans.fault(self._rng)
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
        if self._crowded:
            wanted = plans.crowd(self._rng, machine.clock.now(), supervised)
        else:
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
        self._note_that_they_are_to_be_cancelled(chosen)
        try:
            results = control.cancel(context, chosen)
        finally:
            # It meets whatever round each is in by then: somebody may have revived one meanwhile.
            self._note_that_they_are_to_be_cancelled(chosen)
        for result in results:
            if result.verdict != "ended":
                self._machine.cancelled.add((result.job.id, result.job.round))

    def _note_that_they_are_to_be_cancelled(self, chosen: list[int]) -> None:
        jobs = self._machine.checker.seen.jobs
        self._machine.asked_to_cancel.update((one, jobs[one].round) for one in chosen if one in jobs)

    def pause(self) -> None:
        """Somebody pauses jobs."""
        chosen = self._chosen("waiting", "queued", "running")
        if chosen:
            self._command(f"pause {chosen}", lambda context: pausing.pause(context, chosen))

    def resume(self) -> None:
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


def _resize(context: Context, name: str, slots: int | None) -> None:
    if name == STORE:
        capacity.set_limit(context, slots)
    else:
        capacity.set_pool(context, name, slots)

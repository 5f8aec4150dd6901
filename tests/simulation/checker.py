"""Looks at the store after every commit, and holds what it sees against the invariants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inturn.core.job import NOT_IN_LINE
from inturn.core.transitions import holds_slots
from tests.simulation import admitting, invariants, running, snapshot, timing
from tests.simulation.change import Change
from tests.simulation.faults import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inturn.store.db import Store
    from tests.simulation.machine import Machine
    from tests.simulation.process import Process
    from tests.simulation.snapshot import Snapshot

RULES = (*invariants.RULES, *running.RULES, *timing.RULES, *admitting.RULES)


class Checker:
    """Remembers the last snapshot, and how many commits there were."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self._store = store
        self._machine = machine
        self.seen = snapshot.EMPTY
        self.commits = 0

    def look(self, process: Process) -> None:
        """Check what a process has just committed. Raises Violation."""
        before = self.seen
        after = self.seen = snapshot.take(self._store, before)
        self.commits += 1
        self._tell(process, after)
        change = Change(before, after, self._machine, process)
        for rule in RULES:
            for problem in rule(change):
                raise Violation(f"{rule.__name__}: {problem}")

    def expect_nothing_left(self) -> None:
        """When everything has ended, nothing but the jobs and their history remains."""
        for table in ("owners", "worker_queues", "admissions", "deadlines", "unsettled", "keys"):
            rows = self._store.execute(f"SELECT * FROM {table}").fetchall()
            if rows:
                raise Violation(f"everything has ended, but {table} holds {rows}")

    def expect_settled(self, queues: Iterable[str]) -> None:
        """A worker that drains leaves, and nothing has come in between: these queues are settled."""
        for job in self.seen.jobs.values():
            if job.queue in queues and not admitting.is_held(self.seen, job):
                eligible = job.phase == "queued" and (job.in_line != NOT_IN_LINE or job.attempts > 0)
                if (eligible and not self._just_opened(job.id)) or holds_slots(job):
                    raise Violation(f"a worker that drains leaves job {job.id} behind, which is {job.status}")

    def _just_opened(self, job_id: int) -> bool:
        """Whether a file or a time let the job in only now: the worker did not have to wait for that."""
        query = "SELECT max(satisfied_at) FROM conditions WHERE job_id = ?"
        return bool(self._store.row(query, (job_id,))[0] == self._machine.clock.wall)

    def _tell(self, process: Process, after: Snapshot) -> None:
        for event in after.events:
            self._machine.kinds.add(event.kind)
            if event.kind == "edited":
                self._machine.edited.add(event.job_id)
            reason = f" ({event.reason})" if event.reason else ""
            run = f", run {event.run}" if event.run else ""
            self._machine.note(
                f"  {process.name}: job {event.job_id} {event.kind}:"
                f" {event.source or 'new'} -> {event.target}{reason}{run}"
            )

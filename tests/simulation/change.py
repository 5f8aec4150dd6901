"""One commit, as the rules look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inturn.core.job import Job
    from tests.simulation.machine import Machine
    from tests.simulation.process import Process
    from tests.simulation.snapshot import Snapshot


class Change(NamedTuple):
    """One commit: the store before and after it, and who made it."""

    before: Snapshot
    after: Snapshot
    machine: Machine
    process: Process

    def pairs(self) -> Iterator[tuple[Job, Job]]:
        """Jobs that were there before, as they were and as they are, if they have changed."""
        for job_id, new in self.after.jobs.items():
            old = self.before.jobs.get(job_id)
            if old is not None and old is not new:
                yield old, new


def difference(old: tuple[object, ...], new: tuple[object, ...]) -> str:
    """What has changed from one record to another, for people."""
    names = type(old)._fields  # type: ignore[attr-defined]
    changed = [
        f"{name} {before!r} -> {after!r}"
        for name, before, after in zip(names, old, new, strict=True)
        if before != after
    ]
    return ", ".join(changed)

"""Estimates of what awaited jobs will take, kept up to date while they are awaited."""

from __future__ import annotations

from inturn.core.estimate import usual
from inturn.core.job import ACTIVE
from inturn.core.moment import SECOND
from inturn.store import estimates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inturn.core.estimate import Usual
    from inturn.core.job import Job
    from inturn.service.context import Context

# For so many names the history is read: of jobs that all have names of their own, most have none.
MOST_NAMES = 50

# What has ended meanwhile is taken into account so often (µs).
_EVERY = 5 * SECOND


class History:
    """What jobs of the same names took before, read again now and then."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[str, Usual] = {}
        self._read_at: int | None = None
        self._names: frozenset[str] = frozenset()

    def look(self, jobs: Sequence[Job]) -> tuple[list[Job], Mapping[str, Usual]]:
        """The jobs, those that run with the start of their present run, and what is usual by name.

        Names without history are left out.
        """
        first: dict[str, int] = {}
        for job in jobs:
            if job.phase != "completed" and job.name is not None:
                first[job.name] = min(job.id, first.get(job.name, job.id))
        mono = self._context.now().mono
        due = self._read_at is None or mono - self._read_at >= _EVERY
        if due or not self._names.issuperset(first):
            self._read(first)
            self._read_at = mono
        return [self._from_its_run(job) for job in jobs], self._known

    def _from_its_run(self, job: Job) -> Job:
        """A job that is in a later run says when its first one was started."""
        if job.phase not in ACTIVE or job.attempts < 2:
            return job
        store = self._context.store
        assert store is not None
        return job._replace(started_at=estimates.started(store, job.id, job.runs))

    def _read(self, first: Mapping[str, int]) -> None:
        store = self._context.store
        assert store is not None
        self._names = frozenset(first)
        found = {}
        with store.reading():
            for name, job_id in sorted(first.items(), key=lambda each: each[1])[:MOST_NAMES]:
                known = usual(estimates.durations(store, name, job_id))
                if known is not None:
                    found[name] = known
        self._known = found

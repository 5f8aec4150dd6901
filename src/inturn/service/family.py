"""Who a job depends on and who depends on it, as far as that can be shown at once."""

from __future__ import annotations

from inturn.core.views import as_of
from inturn.store import gates, jobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from inturn.core.job import Edge, Job
    from inturn.core.moment import Now
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# So many jobs of a family are shown, so many next to each other, and so many generations.
_MOST = 60
_SIBLINGS = 12
_GENERATIONS = 5


class Kin(NamedTuple):
    """A job, and those beyond it in the same direction.

    `outcomes` are those that satisfy the edge through which it was reached. `more` counts the edges of it
    that are not shown.
    """

    job: Job
    outcomes: tuple[str, ...]
    kin: tuple[Kin, ...] = ()
    more: int = 0


class Family(NamedTuple):
    """The dependencies of a job, and its dependents. `waiting` of all its dependents have not ended."""

    above: Kin
    below: Kin
    waiting: int


def family(context: Context, job_id: int) -> Family | None:
    """The dependencies and the dependents of a job, bounded; None if there is no such job."""
    store = context.store
    if store is None:
        return None
    now = context.now()
    with store.reading():
        job = jobs.load(store, job_id)
        if job is None:
            return None
        children = gates.dependents(store, job_id)
        above = _Climb(store, now, gates.edges, lambda edge: edge.parent_id).from_(job)
        below = _Climb(store, now, gates.dependents, lambda edge: edge.job_id).from_(job)
        waiting = sum(not edge.judged for edge in children)
    return Family(above, below, waiting)


class _Climb:
    """Goes along the edges in one direction, each job's own edges shown once."""

    def __init__(
        self,
        store: Store,
        now: Now,
        edges: Callable[[Store, int], list[Edge]],
        other: Callable[[Edge], int],
    ) -> None:
        self._store = store
        self._now = now
        self._edges = edges
        self._other = other
        self._left = _MOST
        self._seen: set[int] = set()

    def from_(self, job: Job) -> Kin:
        """The job with its family in this direction."""
        return self._visit(job, (), 0)

    def _visit(self, job: Job, outcomes: tuple[str, ...], depth: int) -> Kin:
        job = as_of(job, self._now)
        if job.id in self._seen:
            return Kin(job, outcomes)
        self._seen.add(job.id)
        edges = self._edges(self._store, job.id)
        kin: list[Kin] = []
        for edge in edges[: _SIBLINGS if depth < _GENERATIONS else 0]:
            if not self._left:
                break
            self._left -= 1
            other = jobs.load(self._store, self._other(edge))
            if other is not None:
                kin.append(self._visit(other, edge.outcomes, depth + 1))
        return Kin(job, outcomes, tuple(kin), len(edges) - len(kin))

"""Another round for jobs that have ended: the same id, a fresh budget.

A supervised job is never without an owner: new supervisors are started first, and the transaction that
revives the jobs makes them their owners.
"""

from __future__ import annotations

from inturn import __version__
from inturn.core import transitions
from inturn.core.again import held_up_by, revival, why_not
from inturn.errors import InturnError
from inturn.host import faults
from inturn.service import intake, nursery
from inturn.service.acting import Acted, check_reached, existing, load, settle_all
from inturn.store import gates, jobs, overdue, owners, settle, specs
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.transitions import Transition
    from inturn.service.context import Context
    from inturn.service.owned import Newcomer
    from inturn.store.db import Store


class _TooFew(Exception):
    """More jobs need a supervisor than have been started: `wanted` in all.

    What the transaction settles first may end jobs that were still waiting when they were counted.
    """

    def __init__(self, wanted: int) -> None:
        super().__init__(wanted)
        self.wanted = wanted


def retry(context: Context, job_ids: Iterable[int], with_dependents: bool = False) -> list[Acted]:
    """Give jobs another round, all in one transaction; what became of each, in the order given.

    `with_dependents`: also those that were aborted because one of them did not end as it had to, and on down
    the graph; they follow in the result. Raises InturnError `not_found`, or `submission_failed` if there are
    no processes to be had; then nothing is done at all.
    """
    store = existing(context)
    plan = _Plan(store, list(dict.fromkeys(job_ids)), with_dependents)
    with store.reading():
        wanted = _supervised(plan.revivable(context.now()))
    while True:
        try:
            if not wanted:
                return _revive(context, plan, [])
            return nursery.hatch(context, wanted, lambda newcomers: _revive(context, plan, newcomers))[0]
        except _TooFew as more:
            wanted = more.wanted


class _Plan:
    """Which jobs are to be revived. It is made anew in each transaction: others may change them meanwhile."""

    def __init__(self, store: Store, wanted: Sequence[int], with_dependents: bool) -> None:
        self._store = store
        self.wanted = wanted
        self._with_dependents = with_dependents
        self.found: dict[int, Acted] = {}

    def revivable(self, now: Now) -> list[Job]:
        """The jobs that can be revived: those that were asked for, then those that depend on them."""
        self.found = {}
        for job_id in self.wanted:
            self._look_at(load(self._store, job_id), now)
        todo = [one.job for one in self.found.values() if not one.refusal]
        while todo and self._with_dependents:
            for edge in gates.dependents(self._store, todo.pop(0).id):
                dependent = load(self._store, edge.job_id)
                if edge.job_id not in self.found and held_up_by(edge, dependent):
                    self._look_at(dependent, now)
                    if not self.found[edge.job_id].refusal:
                        todo.append(dependent)
        return [one.job for one in self.found.values() if not one.refusal]

    def _look_at(self, job: Job, now: Now) -> None:
        refusal = why_not(job, specs.load(self._store, job.id), now)
        self.found[job.id] = Acted(job, refusal) if refusal else self._if_it_fits(job)

    def _if_it_fits(self, job: Job) -> Acted:
        """Capacities may have changed since it was submitted; in a pool that is gone nothing limits it."""
        try:
            intake.check_capacity(self._store, job.pool, job.slots)
        except InturnError as error:
            return Acted(job, error.message, error)
        return Acted(job)


def _revive(context: Context, plan: _Plan, newcomers: Sequence[Newcomer]) -> list[Acted]:
    """Revive what can be revived by now, each supervised job in the hands of one of the newcomers."""
    store = existing(context)
    acted: list[Acted] = []
    try:
        with faults.commit("retry", store.writing()):
            now = context.now()
            _settle_the_last_round(store, plan.wanted, now)
            again = plan.revivable(now)
            if _supervised(again) > len(newcomers):
                raise _TooFew(_supervised(again))
            heirs = iter(newcomers)
            batch = [
                _another_round(store, job, _owner(store, next(heirs), now) if job.supervised else None, now)
                for job in again
            ]
            jobs.commit(store, batch, now)
            settle_all(store, [transition.after for transition in batch], now)
            acted = [one._replace(job=load(store, one.job.id)) for one in plan.found.values()]
    except CommitUnknown as failure:
        check_reached(store, [one.job for one in acted], failure)
    return acted


def _settle_the_last_round(store: Store, job_ids: Iterable[int], now: Now) -> None:
    """Whoever waits for these jobs is judged by how they ended, before they have not ended any more."""
    jobs.commit(store, settle.late(store, now), now)
    for job_id in job_ids:
        while overdue.is_unsettled(store, job_id):
            jobs.commit(store, settle.dependents(store, job_id, now, overdue.AT_MOST), now)


def _supervised(jobs: Iterable[Job]) -> int:
    return sum(job.supervised for job in jobs)


def _owner(store: Store, heir: Newcomer, now: Now) -> int:
    return owners.register(store, "supervisor", *heir, __version__, now)


def _another_round(store: Store, job: Job, owner: int | None, now: Now) -> Transition:
    gates.forget_receipts(store, job.id)
    # Nobody is to be settled by an outcome that is no more.
    overdue.forget_unsettled(store, job.id)
    spec = specs.load(store, job.id)
    event = revival(gates.edges(store, job.id), gates.conditions(store, job.id), spec, owner)
    return transitions.apply(job, event, now)

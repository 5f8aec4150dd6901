"""What a worker differs in from a supervisor: it claims jobs from its queues."""

from __future__ import annotations

from inturn.host import faults
from inturn.owners import admit
from inturn.store import admissions, due, gates, jobs, lanes, overdue, owners, settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import NamedTuple

    from inturn.core.admission import Decision, Request
    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.transitions import Transition
    from inturn.owners.tools import Tools
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# Jobs claimed in one transaction: a bound on how long the write lock is held, and the first one waits.
AT_MOST = 16

# Jobs whose wait conditions one worker looks at.
GATES_AT_MOST = 1000


class Claim(NamedTuple):
    """What an attempt to claim came to: the admitted jobs, in the order in which they are to be started.

    Without any, `settled` says whether the queues are settled, `unfinished` whether more is overdue than one
    transaction settles, and `yields` whether somebody else has been offered the slots: should they not take
    them, no commit will tell.
    """

    admitted: tuple[Transition, ...] = ()
    settled: bool = False
    unfinished: bool = False
    yields: bool = False


def claim(tools: Tools, queues: Mapping[str, int | None], now: Now, places: int, draining: bool) -> Claim:
    """Claim the first jobs in line order that may be admitted, over all the queues; one transaction.

    `queues` gives each queue's ceiling, None for none; `places` is how many at most. What is overdue is
    settled first, and whether the queues are settled is read in the same snapshot as the failed claim, so
    that nothing slips between them.
    """
    with faults.commit("claim", tools.store.writing()):
        return take(tools, queues, now, places, draining, come=False)


def take(
    tools: Tools, queues: Mapping[str, int | None], now: Now, places: int, draining: bool, come: bool
) -> Claim:
    """As `claim`, inside a write transaction that may have done something else before.

    Whoever else may be admitted now is noted to be woken after the commit; `come` says whether anybody has
    come into the line before in this transaction.
    """
    store = tools.store
    come = _catch_up(tools, now) or come
    owners.show_up(store, tools.owner)
    admitted: list[Transition] = []
    yields = False
    while len(admitted) < min(places, AT_MOST):
        first, yields = _first_admissible(store, queues, now)
        if first is None:
            break
        admitted.append(admit.admit(tools, *first, now, wake=False))
        come = come or admissions.matters_without_limits(admitted[-1].after)
    admissions.wake_admissible(store, now, tools.owner, come)
    if admitted:
        return Claim(tuple(admitted))
    return Claim(
        settled=draining and lanes.is_settled(store, queues),
        unfinished=overdue.pending(store, now),
        yields=yields,
    )


def _first_admissible(
    store: Store, queues: Mapping[str, int | None], now: Now
) -> tuple[tuple[Job, Decision] | None, bool]:
    """The job to be claimed next, if there is one, and whether somebody else was offered its slots."""
    yields = False
    for request in _candidates(store, queues):
        job = jobs.load(store, request.job_id)
        assert job is not None
        decision = admissions.settle_unpaused(store, job, now)
        if decision.admitted:
            return (job, decision), False
        yields = yields or decision.reason == "yields"
    return None, yields


def _catch_up(tools: Tools, now: Now) -> bool:
    """Bring the line up to date: strict order asks that all that is due stands in it.

    Returns whether anybody has come into it.
    """
    come = False
    promoted = due.PROMOTE_AT_MOST
    while promoted >= due.PROMOTE_AT_MOST:
        promoted = due.promote(tools.store, now)
        come = come or promoted > 0
    late = settle.late(tools.store, now)
    if late:
        come = jobs.commit(tools.store, late, now, tools.owner, wake=False) or come
    return come


def _candidates(store: Store, queues: Mapping[str, int | None]) -> list[Request]:
    """The first of each class in those of the queues whose ceiling is not reached, in line order."""
    open_queues = {queue for queue, ceiling in queues.items() if not _full(store, queue, ceiling)}
    found = [one.request for one in admissions.heads(store) if one.queue in open_queues]
    return sorted(found, key=lambda request: request.place)


def _full(store: Store, queue: str, ceiling: int | None) -> bool:
    if ceiling is None:
        return False
    return bool(store.row("SELECT count(*) >= ? FROM admissions WHERE queue = ?", (ceiling, queue))[0])


def worth_claiming(store: Store, queues: Collection[str], now: Now) -> bool:
    """A look without the write lock: whether anything stands in line, is due, or is to be settled."""
    with store.reading():
        if any(one.queue in queues for one in admissions.heads(store)):
            return True
        return due.is_anything_due(store, now) or overdue.pending(store, now)


def adopt_gates(tools: Tools, queues: Collection[str], room: int) -> list[int]:
    """Take over waiting jobs of the queues whose conditions nobody looks at; returns their ids."""
    if room <= 0 or not gates.unwatched(tools.store, queues):
        return []
    with faults.commit("watch", tools.store.writing(durable=False)):
        return gates.adopt(tools.store, tools.owner, queues, room)

"""Owners and queues, read to be looked at; the caller has one read transaction open."""

from __future__ import annotations

from inturn.core.roster import Line, Member
from inturn.core.views import Keeper, Totals
from inturn.store import held, lanes, reads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from inturn.core.held import Held
    from inturn.core.moment import Now
    from inturn.store.db import Store

_OWN = ("version", "accepting", "places")
_SELECT = f"SELECT {', '.join((*Keeper._fields, *_OWN))} FROM owners ORDER BY id"


def members(store: Store) -> list[Member]:
    """Every owner in the registry, its life not looked at yet."""
    queues: dict[int, dict[str, int | None]] = {}
    for owner, queue, ceiling in store.execute("SELECT owner, queue, ceiling FROM worker_queues"):
        queues.setdefault(owner, {})[queue] = ceiling
    jobs: dict[int, list[int]] = {}
    for owner, job_id in store.execute("SELECT owner, id FROM jobs WHERE owner IS NOT NULL ORDER BY id"):
        jobs.setdefault(owner, []).append(job_id)
    busy = dict(store.execute("SELECT owner, count(*) FROM admissions GROUP BY owner"))
    found = []
    for row in store.execute(_SELECT):
        keeper = Keeper(*row[: len(Keeper._fields)])
        version, accepting, places = row[len(Keeper._fields) :]
        mine = tuple(jobs.get(keeper.id, ()))
        found.append(
            Member(
                keeper,
                version,
                bool(accepting),
                places,
                busy.get(keeper.id, 0),
                queues.get(keeper.id, {}),
                mine,
            )
        )
    return found


def lines(store: Store, now: Now) -> list[Line]:
    """Every queue that has or had jobs, is served or is paused; its workers' lives not looked at yet."""
    counts = reads.counts(store, now)
    paused = held.load(store)
    totals = Totals(counts, (), paused.queues)
    active = dict(store.execute("SELECT queue, count(*) FROM admissions GROUP BY queue"))
    workers = [one for one in members(store) if one.queues]
    names = {*totals.queues, *(name for one in workers for name in one.queues)}
    return [
        Line(
            name,
            totals.by_status(queue=name),
            active.get(name, 0),
            tuple(one for one in workers if name in one.queues),
            "active" if active.get(name) else _unsettled(store, name, counts, paused),
            name in paused.queues,
        )
        for name in sorted(names)
    ]


def _unsettled(store: Store, queue: str, counts: Mapping[tuple[str, str, str], int], paused: Held) -> str:
    """A key of UNSETTLED, or '' if nothing holds a drain open. What is due counts as in line already."""
    moving = {
        status
        for (its_queue, pool, status), jobs in counts.items()
        if jobs and its_queue == queue and not paused.over(queue, pool)
    }
    if "queued" in moving:
        return "eligible"
    if "backoff" in moving:
        return "backoff"
    return "" if lanes.is_settled(store, [queue]) else "dependency"

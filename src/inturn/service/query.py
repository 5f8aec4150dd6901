"""Looking at the store: every function sees one state of it, in one read transaction, and writes nothing."""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.core.moment import MILLISECOND
from inturn.core.polling import jittered
from inturn.core.views import Dossier, Scope, Totals, as_of
from inturn.host import clock
from inturn.service.select import not_found, resolve, resolve_many
from inturn.store import gates, held, jobs, reads, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from inturn.core.job import Job
    from inturn.core.reasons import Reason
    from inturn.core.views import Filters, LedgerEntry, View
    from inturn.service.context import Context
    from inturn.store.db import Store

    T = TypeVar("T")

# How often a follower of the ledger asks whether anything was committed (µs).
FOLLOW_EVERY = 50 * MILLISECOND


def listing(
    context: Context, filters: Filters, limit: int | None, detailed: bool, form: Callable[[View], T]
) -> list[T]:
    """The jobs that pass the filters, newest first, at most `limit` (None: all), each as `form` makes it.

    They are formed while they are read, so that a listing of a million jobs never holds a million records.
    Not `detailed`: with their last run and owner only.
    """
    store = context.store
    if store is None:
        return []
    now = context.now()
    with store.reading():
        found = reads.newest(store, filters, now, limit)
        return [form(view) for view in reads.views(store, found, detailed)]


def look_at(context: Context, selectors: Iterable[str], detailed: bool) -> list[View]:
    """The jobs that the selectors mean, each once, in their order. Raises as `select.resolve` does."""
    store = context.store
    now = context.now()
    if store is None:
        resolve_many(context, selectors)
        return []
    with store.reading():
        found = [_load(store, job_id) for job_id in resolve_many(context, selectors)]
        return list(reads.views(store, (as_of(job, now) for job in found), detailed))


def totals(context: Context) -> Totals:
    """How many jobs have each status, by queue and pool, and the capacities."""
    store = context.store
    if store is None:
        return Totals({}, _nothing())
    now = context.now()
    with store.reading():
        counts = reads.counts(store, now)
        return Totals(counts, tuple(reads.scopes(store, counts)), held.load(store).queues)


def capacities(context: Context) -> tuple[Scope, ...]:
    """The store-wide limit first, then the pools by name, with who uses them."""
    return totals(context).scopes


def describe(context: Context, selector: str) -> Dossier:
    """Everything about one job. Raises as `select.resolve` does."""
    # A listing explains nothing, and would pay for loading it.
    from inturn.core.explain import explain
    from inturn.service.facts import Gatherer

    store = _existing(context, selector)
    now = context.now()
    gatherer = Gatherer(context, store, now)
    with store.reading():
        job = as_of(_load(store, resolve(context, selector)), now)
        (view,) = reads.views(store, [job], detailed=True)
        gatherer.gather(job.id)
        found = Dossier(
            view=view,
            spec=specs.load(store, job.id),
            key=reads.key(store, job.id),
            holder=reads.admission(store, job.id),
            dependents=tuple(gates.dependents(store, job.id)),
            entries=tuple(reads.events(store, 0, job.id, None)),
        )
    known = gatherer.facts()
    return found._replace(agent=known[job.id].agent, reasons=explain(job.id, known, now))


def why(context: Context, selector: str) -> tuple[Job, tuple[Reason, ...]]:
    """A job, and why it is where it is. Raises as `select.resolve` does."""
    from inturn.core.explain import explain
    from inturn.service.facts import Gatherer

    store = _existing(context, selector)
    now = context.now()
    gatherer = Gatherer(context, store, now)
    with store.reading():
        job_id = resolve(context, selector)
        gatherer.gather(job_id)
    known = gatherer.facts()
    return known[job_id].job, explain(job_id, known, now)


def events(context: Context, since: int, selector: str | None, form: Callable[[LedgerEntry], T]) -> list[T]:
    """The ledger after the event `since`, of one job or of all, oldest first, each as `form` makes it.

    Raises as `select.resolve` does.
    """
    store = context.store
    if store is None and selector is None:
        return []
    store = _existing(context, selector or "")
    with store.reading():
        job_id = None if selector is None else resolve(context, selector)
        return [form(entry) for entry in reads.events(store, since, job_id, None)]


def follow(
    context: Context, since: int, selector: str | None, pause: Callable[[int], None]
) -> Iterator[LedgerEntry]:
    """The ledger after the event `since`, and on as it grows, without end.

    The store exists. `pause` sleeps for the microseconds that it is given. Raises as `select.resolve` does,
    and InturnError `store_unusable` if the store was removed or replaced.
    """
    store = context.store
    assert store is not None
    job_id = None if selector is None else resolve(context, selector)
    version = -1
    while True:
        store.check_in_place()
        # Asked before the look: what is committed in between shows as another version.
        latest = store.version()
        if latest != version:
            version = latest
            with store.reading():
                fresh = list(reads.events(store, since, job_id, None))
            for entry in fresh:
                since = entry.id
                yield entry
        pause(jittered(FOLLOW_EVERY, clock.draw()))


def _load(store: Store, job_id: int) -> Job:
    job = jobs.load(store, job_id)
    assert job is not None, "it was found in this transaction"
    return job


def _existing(context: Context, selector: str) -> Store:
    if context.store is None:
        raise not_found(selector)
    return context.store


def _nothing() -> tuple[Scope, ...]:
    return (Scope(STORE, None, False, 0, 0, ()),)

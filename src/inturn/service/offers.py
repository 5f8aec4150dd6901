"""What the store has to offer to somebody who is typing: jobs, names, queues, pools, tags, arrays."""

from __future__ import annotations

from inturn.core.views import Filters
from inturn.store import offers, reads, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NamedTuple

    from inturn.core.job import Job
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple

# So many words of one kind are as many as anybody reads.
MOST = 100

# So many of the newest jobs are looked at for ids: completion is to be instant in a large store, too.
_NEWEST = 1000


class Offer(NamedTuple):
    """A word that may be meant, and what it is; '' if that says itself."""

    word: str
    about: str = ""


def jobs(context: Context, prefix: str, statuses: Sequence[str]) -> list[Offer]:
    """The ids and names of jobs that begin with `prefix`, newest first; all, or those in such a status.

    Names that only older jobs have are found as well, if no status is asked for.
    """
    if context.store is None:
        return []
    with context.store.reading():
        found = reads.newest(context.store, Filters(statuses=tuple(statuses)), context.now(), _NEWEST)
        offered = dict.fromkeys(_selectors(found, prefix))
        older = [] if statuses or not prefix else offers.names(context.store, prefix, MOST)
    known = {offer.word for offer in offered}
    return [*offered, *(Offer(name) for name in older if name not in known)][:MOST]


def _selectors(found: Iterator[Job], prefix: str) -> Iterator[Offer]:
    named = set()
    for job in found:
        if str(job.id).startswith(prefix):
            yield Offer(str(job.id), " ".join(filter(None, (job.status, job.name))))
        if job.name and job.name not in named and job.name.startswith(prefix):
            named.add(job.name)
            yield Offer(job.name, f"{job.status} {job.id}")


def names(context: Context, prefix: str) -> list[Offer]:
    """The names of jobs that begin with `prefix`."""
    return [] if context.store is None else _plain(offers.names(context.store, prefix, MOST))


def tags(context: Context, prefix: str) -> list[Offer]:
    """Tags, with and without their values, that begin with `prefix`."""
    return [] if context.store is None else _plain(offers.tags(context.store, prefix, MOST))


def queues(context: Context, prefix: str) -> list[Offer]:
    """The queues that begin with `prefix`."""
    return [] if context.store is None else _beginning(offers.queues(context.store), prefix)


def pools(context: Context, prefix: str) -> list[Offer]:
    """The pools that begin with `prefix`."""
    if context.store is None:
        return []
    return _beginning([pool.name for pool in settings.pools(context.store) if pool.name], prefix)


def arrays(context: Context, prefix: str) -> list[Offer]:
    """The ids of the newest arrays that begin with `prefix`."""
    if context.store is None:
        return []
    return _beginning(list(map(str, offers.arrays(context.store, _NEWEST))), prefix)


def _beginning(words: Sequence[str], prefix: str) -> list[Offer]:
    return _plain([word for word in words if word.startswith(prefix)][:MOST])


def _plain(words: Sequence[str]) -> list[Offer]:
    return [Offer(word) for word in words]

"""One page of the jobs, for somebody who looks at the store again and again."""

from __future__ import annotations

from inturn.store import reads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.core.views import Filters, View
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# So many active jobs come first on the first page: what runs is often older than all that is shown.
PINNED = 50

# So many jobs at most are searched for a text, the newest first.
SEARCHED = 20_000


class Page(NamedTuple):
    """Some of the jobs: the first `pinned` are active ones, the others are the newest.

    `older` is what to ask for as `below` to have the next page, None if there is none. `searched` is how many
    jobs were looked through for the text, if not all of them were.
    """

    views: tuple[View, ...] = ()
    pinned: int = 0
    older: int | None = None
    searched: int | None = None


def page(context: Context, filters: Filters, text: str, rows: int) -> Page:
    """At most `rows` jobs that pass the filters and have `text` in their name or command, or as their id.

    The active ones come first, unless the filters ask for older jobs or certain statuses.
    """
    store = context.store
    if store is None:
        return Page()
    now = context.now()
    with store.reading():
        pinned: list[View] = []
        if filters.below is None and not filters.statuses and not text:
            active = filters._replace(statuses=("active",))
            pinned = list(reads.views(store, reads.newest(store, active, now, min(PINNED, rows)), False))
        search = _Search(text)
        # One more than is shown tells whether there are more.
        found = _take(search.through(_newest(store, filters, now, text, rows)), rows + 1)
    known = {view.job.id for view in pinned}
    room = rows - len(pinned)
    rest = [view for view in found if view.job.id not in known]
    older = rest[room - 1].job.id if 0 < room < len(rest) else None
    searched = search.seen if search.seen >= SEARCHED else None
    return Page((*pinned, *rest[:room]), len(pinned), older, searched)


def _newest(store: Store, filters: Filters, now: Now, text: str, rows: int) -> Iterator[View]:
    limit = SEARCHED if text else rows + 1
    return reads.views(store, reads.newest(store, filters, now, limit), False)


def _take(found: Iterable[View], most: int) -> list[View]:
    taken: list[View] = []
    for view in found:
        taken.append(view)
        if len(taken) == most:
            break
    return taken


class _Search:
    """Lets those jobs pass that have a text somewhere, whatever its case."""

    def __init__(self, text: str) -> None:
        self._text = text.casefold()
        self.seen = 0

    def through(self, views: Iterable[View]) -> Iterator[View]:
        """Those of the views in which the text is."""
        if not self._text:
            yield from views
            return
        for view in views:
            self.seen += 1
            if self._is_in(view):
                yield view

    def _is_in(self, view: View) -> bool:
        command = b" ".join(view.argv).decode("utf-8", "replace")
        where = (view.job.name or "", command, view.job.queue, view.job.pool)
        return self._text == str(view.job.id) or any(self._text in one.casefold() for one in where)

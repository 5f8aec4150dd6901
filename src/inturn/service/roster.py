"""Who owns jobs and lives, and how the queues stand: read in one transaction, lives looked at after it."""

from __future__ import annotations

from inturn.core.roster import UNVERIFIED
from inturn.service.facts import life
from inturn.store import roster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.roster import Line, Member
    from inturn.service.context import Context


def members(context: Context) -> list[Member]:
    """Every process that owns jobs or would, the oldest first."""
    store = context.store
    if store is None:
        return []
    with store.reading():
        found = roster.members(store)
    return [_judged(context, one) for one in found]


def lines(context: Context) -> list[Line]:
    """Every queue that has or had jobs, is served or is paused, by name."""
    store = context.store
    if store is None:
        return []
    with store.reading():
        found = roster.lines(store, context.now())
    return [it._replace(members=tuple(_judged(context, one) for one in it.members)) for it in found]


def _judged(context: Context, one: Member) -> Member:
    verdict = life(context.directory, one.keeper)
    return one._replace(life=UNVERIFIED if verdict == "unknown" else verdict)

"""The JSON of owners and queues. Keys are only ever added."""

from __future__ import annotations

from inturn.core import wire
from inturn.core.roster import UNSETTLED
from inturn.core.wire_values import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.roster import Line, Member
    from inturn.core.wire_values import Json


def member(it: Member) -> Json:
    """An owner; what only workers have is null or empty for the others."""
    works = it.keeper.kind == "worker"
    return {
        **wire.keeper(it.keeper),
        "life": it.life,
        "version": it.version,
        "accepting": it.accepting if works else None,
        "queues": [{"name": name, "ceiling": ceiling} for name, ceiling in sorted(it.queues.items())],
        "places": it.places,
        "busy": it.busy,
        "lease_expires_at": timestamp(it.keeper.lease_wall or None),
        "jobs": list(it.jobs),
    }


def line(it: Line) -> Json:
    """A queue, with who serves it and whether it is settled."""
    return {
        "name": it.name,
        "held": it.paused,  # `paused` counts jobs
        **wire.counts(it.counts),
        "active": it.active,
        "ceilings": list(it.ceilings),
        "workers": [
            {
                "id": one.keeper.id,
                "pid": one.keeper.pid,
                "life": one.life,
                "accepting": one.accepting,
                "ceiling": one.queues[it.name],
            }
            for one in it.members
        ],
        "settled": not it.unsettled,
        "unsettled": it.unsettled or None,
        "unsettled_message": UNSETTLED.get(it.unsettled),
    }

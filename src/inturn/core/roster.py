"""The processes that own jobs, and the queues that some of them serve, as they are shown."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from inturn.core.views import Keeper
else:
    from inturn.core.records import NamedTuple

# What is said of an owner: whether it lives can be beyond proof.
ALIVE, DEAD, UNVERIFIED = "alive", "dead", "unverified"


class Member(NamedTuple):
    """An owner. `life` is ALIVE, DEAD or UNVERIFIED.

    `queues` are those that a worker serves with its ceiling for each, None for none; `busy` of its `places`
    are taken; `accepting` says that it claims. `jobs` are the ids of all its jobs, those that wait included.
    """

    keeper: Keeper
    version: str
    accepting: bool
    places: int
    busy: int
    queues: Mapping[str, int | None]
    jobs: tuple[int, ...]
    life: str = UNVERIFIED


class Line(NamedTuple):
    """A queue: how many of its jobs have which status, who serves it, and what holds a drain of it open.

    `members` are the workers that serve it, dead ones included; `active` counts the jobs that hold slots.
    `unsettled` is empty if a draining worker would end now, else one of UNSETTLED.
    """

    name: str
    counts: Mapping[str, int]
    active: int
    members: tuple[Member, ...]
    unsettled: str
    paused: bool = False

    @property
    def serving(self) -> tuple[Member, ...]:
        """The workers that would claim from it, if they had a place."""
        return tuple(one for one in self.members if one.accepting and one.life != DEAD)

    @property
    def ceilings(self) -> tuple[int, ...]:
        """The ceilings of the workers that serve it, each once."""
        found = {one.queues[self.name] for one in self.serving}
        return tuple(sorted(ceiling for ceiling in found if ceiling is not None))


# Why a queue is not settled, in the order in which it is looked for; see `inturn.core.drain`.
UNSETTLED = {
    "active": "jobs hold slots",
    "eligible": "jobs stand in line",
    "backoff": "jobs are to be repeated",
    "dependency": "jobs wait for others that are going somewhere",
}

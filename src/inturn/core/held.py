"""Queues and pools that are paused as a whole: nothing new is started from them, and what runs goes on."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple


class Lane(NamedTuple):
    """A queue or a pool. `kind` says which, as `queue` or `pool`."""

    kind: str
    name: str


class Held(NamedTuple):
    """Those that are paused."""

    queues: frozenset[str] = frozenset()
    pools: frozenset[str] = frozenset()

    def over(self, queue: str, pool: str) -> tuple[Lane, ...]:
        """Which of them keep a request in `queue` and for `pool` from being admitted; '' is none."""
        found = []
        if queue in self.queues:
            found.append(Lane("queue", queue))
        if pool in self.pools:
            found.append(Lane("pool", pool))
        return tuple(found)

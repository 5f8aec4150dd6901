"""Who may take slots now: capacity, competition and the bounded bypass.

The rule, from the article on scheduling without a central scheduler, with two departures that keep it
work-conserving: a request also yields to any other older competing request that fits; and a request that
waits only for a scope that another is not charged to neither holds that one back nor counts as bypassed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

# Once so many younger requests have been let by, the oldest one is waited for.
BYPASS_LIMIT = 3

# The name of the scope that every request is charged to; pools have non-empty names.
STORE = ""


class Request(NamedTuple):
    """A job's place in line. `slots` are charged to the store and, if `pool` is not empty, to that pool."""

    job_id: int
    priority: int
    next_run_at: int
    slots: int
    pool: str
    bypass_count: int = 0

    @property
    def place(self) -> tuple[int, int, int]:
        """The sort key of the line: priority first, then eligibility time, then id."""
        return (-self.priority, self.next_run_at, self.job_id)


class Capacity(NamedTuple):
    """Limits and use of each finite scope, by name; STORE is the store-wide one. Others are unlimited."""

    limits: Mapping[str, int]
    used: Mapping[str, int]

    def scopes(self, request: Request) -> tuple[str, ...]:
        """The finite scopes that a request is charged to."""
        names = (STORE, request.pool) if request.pool else (STORE,)
        return tuple(name for name in names if name in self.limits)

    def obstacles(self, request: Request) -> tuple[str, ...]:
        """The finite scopes in which the request does not fit now."""
        return tuple(
            name
            for name in self.scopes(request)
            if self.used.get(name, 0) + request.slots > self.limits[name]
        )

    def too_large(self, request: Request) -> tuple[str, ...]:
        """The scopes that could not hold the request even if they were empty."""
        return tuple(name for name in self.scopes(request) if request.slots > self.limits[name])


class Decision(NamedTuple):
    """Whether a request is admitted, and why or why not.

    `reason` is `admitted`, `too_large`, `full` (the scopes are in `obstacles`), `yields` (an older request
    that may go first) or `held` (an older one that has been passed often enough). `other` is the older
    request in question, and `passed` the one whose bypass count grows with this admission.
    """

    admitted: bool
    reason: str
    obstacles: tuple[str, ...] = ()
    other: Request | None = None
    passed: Request | None = None


def decide(mine: Request, line: Iterable[Request], capacity: Capacity) -> Decision:
    """Settle one request against the others in line.

    `line` holds at least the first request of each class of equal size and pool among those that compete:
    due, not paused, with somebody there to take the slots. `mine` itself may be among them.
    """
    too_large = capacity.too_large(mine)
    if too_large:
        return Decision(False, "too_large", too_large)
    if not capacity.scopes(mine):
        return Decision(True, "admitted")
    older = sorted((other for other in line if other.place < mine.place), key=lambda other: other.place)
    return _settle(mine, older, capacity)


def _settle(mine: Request, older: Sequence[Request], capacity: Capacity) -> Decision:
    """Walk the line from its front, so that each request is judged knowing what holds those before it."""
    judged: list[tuple[Request, tuple[str, ...]]] = []
    for other in older:
        if not capacity.too_large(other):
            judged.append((other, _judge(other, judged, capacity).obstacles))
    return _judge(mine, judged, capacity)


def _judge(mine: Request, judged: Sequence[tuple[Request, tuple[str, ...]]], capacity: Capacity) -> Decision:
    """Decide on a request whose elders have been judged; each comes with the scopes that it waits for.

    A request that is held by an elder waits for those of the elder's scopes that both are charged to: it is
    no more of an obstacle to a third one than the elder is.
    """
    scopes = set(capacity.scopes(mine))
    passed = None
    for other, waits_for in judged:
        shared = scopes.intersection(capacity.scopes(other))
        if not shared:
            continue
        if not waits_for:
            return Decision(False, "yields", tuple(shared), other)
        blocking = scopes.intersection(waits_for)
        if not blocking:
            continue
        if other.bypass_count >= BYPASS_LIMIT:
            return Decision(False, "held", tuple(blocking), other)
        passed = passed or other
    full = capacity.obstacles(mine)
    if full:
        return Decision(False, "full", full)
    return Decision(True, "admitted", passed=passed)


def admissible(line: Iterable[Request], capacity: Capacity) -> list[Request]:
    """Those in line that may be admitted now, first come first.

    They are asked one by one against the same capacity, so that only the first is certain: ask again after
    each admission.
    """
    ordered = sorted(line, key=lambda request: request.place)
    return [request for request in ordered if decide(request, ordered, capacity).admitted]

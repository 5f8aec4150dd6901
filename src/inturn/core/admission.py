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
    """A job's place in line. `slots` are charged to the store and, if `pool` is not empty, to that pool.

    `throttle` is the id of an array that lets only so many of its jobs run at once, else 0: each job counts
    as one there, whatever its slots.
    """

    job_id: int
    priority: int
    next_run_at: int
    slots: int
    pool: str
    bypass_count: int = 0
    throttle: int = 0

    @property
    def place(self) -> tuple[int, int, int]:
        """The sort key of the line: priority first, then eligibility time, then id."""
        return (-self.priority, self.next_run_at, self.job_id)


def array_scope(throttle: int) -> str:
    """The name of an array's scope; the blank keeps it apart from all pools."""
    return f"array {throttle}"


class Capacity(NamedTuple):
    """Limits and use of each finite scope, by name; STORE is the store-wide one. Others are unlimited.

    `devices` holds, for each pool with devices, how many more admissions each device takes: a request needs
    as many distinct devices as it asks slots, so that there it is a question of placement, not of a count.
    """

    limits: Mapping[str, int]
    used: Mapping[str, int]
    devices: Mapping[str, Sequence[int]] = {}

    def scopes(self, request: Request) -> tuple[str, ...]:
        """The finite scopes that a request is charged to."""
        if not self.limits:
            return ()
        names = [STORE]
        if request.pool:
            names.append(request.pool)
        if request.throttle:
            names.append(array_scope(request.throttle))
        return tuple(name for name in names if name in self.limits)

    def obstacles(self, request: Request) -> tuple[str, ...]:
        """The finite scopes in which the request does not fit now."""
        return tuple(name for name in self.scopes(request) if not self._fits(name, request))

    def _fits(self, scope: str, request: Request) -> bool:
        free = self.devices.get(scope)
        if free is not None:
            return sum(room > 0 for room in free) >= request.slots
        return self.used.get(scope, 0) + _charge(scope, request) <= self.limits[scope]

    def too_large(self, request: Request) -> tuple[str, ...]:
        """The scopes that could not hold the request even if they were empty."""
        return tuple(
            name
            for name in self.scopes(request)
            if _charge(name, request) > len(self.devices.get(name, range(self.limits[name])))
        )

    def place(self, request: Request) -> tuple[int, ...]:
        """Which devices of its pool a request that fits is given, by index: the least used."""
        free = self.devices.get(request.pool, ())
        emptiest = sorted(range(len(free)), key=lambda index: -free[index])[: request.slots]
        return tuple(sorted(emptiest)) if free else ()


def _charge(scope: str, request: Request) -> int:
    return 1 if request.throttle and scope == array_scope(request.throttle) else request.slots


class Decision(NamedTuple):
    """Whether a request is admitted, and why or why not.

    `reason` is `admitted`, `too_large`, `full` (the scopes are in `obstacles`), `yields` (an older request
    that may go first), `held` (an older one that has been passed often enough) or, of a request that does not
    compete because its queue or its pool is paused, `paused`. `other` is the older
    request in question, and `passed` the one whose bypass count grows with this admission.
    """

    admitted: bool
    reason: str
    obstacles: tuple[str, ...] = ()
    other: Request | None = None
    passed: Request | None = None


_ADMITTED = Decision(True, "admitted")


def decide(mine: Request, line: Iterable[Request], capacity: Capacity) -> Decision:
    """Settle one request against the others in line.

    `line` holds at least the first request of each class of equal size and pool among those that compete
    (due, not paused, with somebody there to take the slots), and all that have been bypassed often enough.
    `mine` itself may be among them.
    """
    if not capacity.scopes(mine):
        return _ADMITTED
    too_large = capacity.too_large(mine)
    if too_large:
        return Decision(False, "too_large", too_large)
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

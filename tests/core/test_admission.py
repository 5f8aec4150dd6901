from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from inturn.core.admission import (
    BYPASS_LIMIT,
    STORE,
    Capacity,
    Decision,
    Request,
    admissible,
    array_scope,
    decide,
)


def request(job_id: int, slots: int = 1, pool: str = "", **fields: Any) -> Request:
    """A request that became eligible at instant `job_id`, unless said otherwise."""
    return Request(
        **{"job_id": job_id, "priority": 0, "next_run_at": job_id, "slots": slots, "pool": pool, **fields}
    )


def room(limits: dict[str, int], **used: int) -> Capacity:
    """Capacities, and the slots in use: of the store as `store`, of pools by their names."""
    return Capacity(limits, {STORE if name == "store" else name: slots for name, slots in used.items()})


FOUR = {STORE: 4}


# The article's example and its rule.


def test_exactly_three_small_requests_pass_a_large_one_and_then_it_is_next() -> None:
    used = 2
    large = request(1, slots=3)
    passed_by = []
    for number in range(2, 20):
        small = request(number)
        decision = decide(small, [large, small], room(FOUR, store=used))
        if not decision.admitted:
            break
        passed_by.append(number)
        assert decision.passed == large
        large = large._replace(bypass_count=large.bypass_count + 1)
        # Each small one ends before the next arrives: the large one never fits.
    assert passed_by == [2, 3, 4]
    assert (decision.reason, decision.other) == ("held", large)
    # Even with two slots idle; and when one of the two jobs ends, the large one goes first.
    assert decide(large, [large, small], room(FOUR, store=1)).admitted
    assert decide(small, [large, small], room(FOUR, store=1)).reason == "yields"


def test_a_request_waits_for_an_older_one_that_fits() -> None:
    old, young = request(1, slots=2), request(2)
    decision = decide(young, [young, old], room(FOUR))
    assert decision == Decision(False, "yields", (STORE,), old)


def test_a_request_that_does_not_fit_says_which_scopes_are_full() -> None:
    limits = {STORE: 4, "gpu": 2, "io": 1}
    decision = decide(request(1, 2, "gpu"), [], room(limits, store=4, gpu=1, io=1))
    assert decision == Decision(False, "full", (STORE, "gpu"))


def test_a_request_alone_in_line_that_fits_is_admitted_and_passes_nobody() -> None:
    assert decide(request(1, 4), [request(1, 4)], room(FOUR)) == Decision(True, "admitted")


def test_a_younger_request_never_counts() -> None:
    young = request(2, bypass_count=BYPASS_LIMIT)
    assert decide(request(1), [young], room(FOUR, store=3)).admitted


# The order of the line.


def test_priority_goes_before_time_and_time_before_the_id() -> None:
    urgent = request(9, priority=1, next_run_at=50)
    early = request(8, next_run_at=10)
    first, second = request(1, next_run_at=20), request(2, next_run_at=20)
    ordered = sorted([second, first, early, urgent], key=lambda one: one.place)
    assert ordered == [urgent, early, first, second]
    for number, one in enumerate(ordered[1:]):
        assert decide(one, ordered, room(FOUR)).other == urgent
        assert decide(one, ordered[number + 1 :], room(FOUR)).admitted


def test_equal_times_are_settled_by_the_ids() -> None:
    shards = [request(number, next_run_at=5, pool="analysis") for number in (4, 2, 3, 1)]
    capacity = room({STORE: 4, "analysis": 2}, store=1, analysis=1)
    assert [one.job_id for one in admissible(shards, capacity)] == [1]


def test_a_higher_priority_that_goes_before_a_wide_request_is_no_bypass() -> None:
    wide, urgent = request(1, 4), request(2, priority=5)
    assert decide(urgent, [wide, urgent], room(FOUR, store=2)) == Decision(True, "admitted")


def test_an_urgent_wide_request_does_not_free_those_whom_a_passed_one_holds() -> None:
    passed_often = request(1, 3, bypass_count=BYPASS_LIMIT)
    urgent, small = request(8, 4, priority=9), request(9)
    decision = decide(small, [passed_often, urgent, small], room(FOUR, store=2))
    assert (decision.reason, decision.other) == ("held", passed_often)


# The departures, and scopes that are not shared.


def test_a_request_also_yields_to_one_behind_the_oldest_that_fits() -> None:
    large, second, third = request(1, 3), request(2, 2), request(3)
    decision = decide(third, [large, second, third], room(FOUR, store=2))
    assert (decision.reason, decision.other) == ("yields", second)
    assert decide(second, [large, second, third], room(FOUR, store=2)).passed == large


def test_pools_without_a_common_limit_are_not_ordered_against_each_other() -> None:
    limits = {"gpu": 1, "io": 1}
    other = request(1, 1, "gpu", bypass_count=BYPASS_LIMIT)
    assert decide(request(2, 1, "io"), [other], room(limits, gpu=1)) == Decision(True, "admitted")


def test_a_full_pool_neither_holds_back_nor_is_bypassed_by_those_outside_it() -> None:
    limits = {STORE: 4, "gpu": 1}
    for bypasses in range(BYPASS_LIMIT + 1):
        waits_for_gpu = request(1, 1, "gpu", bypass_count=bypasses)
        decision = decide(request(2), [waits_for_gpu], room(limits, store=1, gpu=1))
        assert decision == Decision(True, "admitted")


def test_once_a_shared_scope_is_its_obstacle_it_counts_as_bypassed_and_then_holds() -> None:
    limits = {STORE: 4, "gpu": 3}
    waits = request(1, 3, "gpu")
    capacity = room(limits, store=2)
    assert decide(request(2), [waits], capacity).passed == waits
    often = waits._replace(bypass_count=BYPASS_LIMIT)
    assert decide(request(2), [often], capacity) == Decision(False, "held", (STORE,), often)


def test_one_that_is_held_in_a_pool_does_not_hold_those_outside_it() -> None:
    limits = {STORE: 10, "gpu": 4}
    first = request(1, 3, "gpu", bypass_count=BYPASS_LIMIT)
    held, outside = request(2, 1, "gpu"), request(3)
    capacity = room(limits, store=2, gpu=2)
    line = [first, held, outside]
    assert decide(held, line, capacity) == Decision(False, "held", ("gpu",), first)
    assert decide(outside, line, capacity) == Decision(True, "admitted")


def test_a_request_that_can_no_longer_fit_competes_with_nobody() -> None:
    huge = request(1, 5, bypass_count=BYPASS_LIMIT)
    assert decide(huge, [huge], room(FOUR)) == Decision(False, "too_large", (STORE,))
    assert decide(request(2), [huge], room(FOUR, store=3)) == Decision(True, "admitted")


def test_without_limits_everybody_is_admitted_at_once() -> None:
    assert decide(request(2, 99), [request(1)], room({})) == Decision(True, "admitted")
    assert decide(request(2, 99, "gpu"), [request(1, 1, "gpu")], room({})) == Decision(True, "admitted")


def test_nothing_is_admitted_while_more_is_in_use_than_allowed() -> None:
    assert decide(request(1), [], room(FOUR, store=6)) == Decision(False, "full", (STORE,))


# Arrays that run only so many of their jobs at once, and pools whose slots have names.


def test_each_job_of_a_throttled_array_counts_as_one_there_whatever_its_slots() -> None:
    capacity = room({STORE: 8, array_scope(5): 2}, store=3)._replace(used={STORE: 3, array_scope(5): 1})
    assert decide(request(6, 4, throttle=5), [], capacity).admitted
    full = capacity._replace(used={STORE: 3, array_scope(5): 2})
    assert decide(request(6, 1, throttle=5), [], full) == Decision(False, "full", (array_scope(5),))


def test_a_full_array_holds_back_nobody_outside_it() -> None:
    capacity = Capacity({STORE: 8, array_scope(5): 2}, {STORE: 2, array_scope(5): 2})
    waiting = request(7, throttle=5, bypass_count=BYPASS_LIMIT)
    assert decide(request(9), [waiting], capacity) == Decision(True, "admitted")


def test_devices_are_a_question_of_placement_and_not_of_a_count() -> None:
    limits = {"gpu": 4}
    half_used = Capacity(limits, {"gpu": 2}, {"gpu": (2, 0)})
    assert decide(request(1, 1, "gpu"), [], half_used).admitted
    assert decide(request(1, 2, "gpu"), [], half_used) == Decision(False, "full", ("gpu",))
    assert decide(request(1, 3, "gpu"), [], Capacity(limits, {}, {"gpu": (2, 2)})).reason == "too_large"


def test_the_least_used_devices_are_given_in_their_order() -> None:
    capacity = Capacity({"gpu": 8}, {}, {"gpu": (1, 2, 0, 2)})
    assert capacity.place(request(1, 1, "gpu")) == (1,)
    assert capacity.place(request(1, 2, "gpu")) == (1, 3)
    assert capacity.place(request(1, 3, "gpu")) == (0, 1, 3)
    assert capacity.place(request(1, 3)) == ()


# Whole histories.

POOLS = ("", "cpu", "gpu", "free")  # `free` never has a limit, `gpu` has devices
PER_DEVICE = 2
ARRAY = 1


class World:
    """Requests that come, ask in any order, run and go; each answer is checked for what must always hold."""

    def __init__(self) -> None:
        self.limits = {STORE: 4, "cpu": 3, "gpu": 3 * PER_DEVICE, array_scope(ARRAY): 2}
        self.line: dict[int, Request] = {}
        self.running: dict[int, tuple[Request, tuple[int, ...]]] = {}
        self.arrived = 0

    @property
    def capacity(self) -> Capacity:
        used: dict[str, int] = {}
        free = [PER_DEVICE] * (self.limits["gpu"] // PER_DEVICE) if "gpu" in self.limits else []
        for one, devices in self.running.values():
            used[STORE] = used.get(STORE, 0) + one.slots
            if one.pool:
                used[one.pool] = used.get(one.pool, 0) + one.slots
            if one.throttle:
                used[array_scope(ARRAY)] = used.get(array_scope(ARRAY), 0) + 1
            for device in devices:
                if device < len(free):
                    free[device] -= 1
        return Capacity(self.limits, used, {"gpu": free} if free else {})

    def arrive(self, slots: int, pool: str, priority: int = 0, throttle: int = 0, ago: int = 0) -> None:
        self.arrived += 1
        place = {"next_run_at": self.arrived - ago, "priority": priority, "throttle": throttle}
        self.line[self.arrived] = request(self.arrived, slots, pool, **place)

    def finish(self, which: int) -> None:
        if self.running:
            del self.running[sorted(self.running)[which % len(self.running)]]

    def limit(self, scope: str, slots: int | None) -> None:
        self.limits.pop(scope, None)
        if slots is not None:
            self.limits[scope] = slots * PER_DEVICE if scope == "gpu" else slots

    def ask(self, which: int) -> Decision | None:
        if not self.line:
            return None
        mine = self.line[sorted(self.line)[which % len(self.line)]]
        capacity = self.capacity
        decision = decide(mine, self.line.values(), capacity)
        self.check(mine, decision, capacity)
        if decision.passed is not None:
            counted = decision.passed._replace(bypass_count=decision.passed.bypass_count + 1)
            assert counted.bypass_count <= BYPASS_LIMIT
            self.line[counted.job_id] = counted
        if decision.admitted:
            del self.line[mine.job_id]
            self.running[mine.job_id] = (mine, capacity.place(mine))
        return decision

    def check(self, mine: Request, decision: Decision, capacity: Capacity) -> None:
        line = list(self.line.values())
        assert decision == decide(mine, heads(line), capacity)
        scopes = set(capacity.scopes(mine))
        other = decision.other or decision.passed
        if other is not None:
            assert other.place < mine.place
            assert scopes & set(capacity.scopes(other))
            assert not capacity.too_large(other)
        if decision.admitted:
            assert not capacity.obstacles(mine), "never more than there is"
        elif decision.reason == "full":
            assert decision.obstacles == capacity.obstacles(mine) != ()
        elif decision.reason == "yields":
            assert other is not None
            assert decide(other, line, capacity).admitted, "whom we wait for may go"
        elif decision.reason == "held":
            assert other is not None
            assert other.bypass_count == BYPASS_LIMIT
            waits_for = decide(other, line, capacity)
            assert not waits_for.admitted
            assert scopes & set(waits_for.obstacles), "nobody waits for a scope that is not its own"
            assert set(decision.obstacles) <= scopes

    def settle(self, order: Random) -> None:
        """Let everybody ask, in any order, until nobody is admitted any more."""
        while True:
            asking = list(range(len(self.line)))
            order.shuffle(asking)
            if not any(decision.admitted for which in asking if (decision := self.ask(which))):
                break
        self.check_idle()

    def check_idle(self) -> None:
        """Nobody can go: either nothing fits, or what fits waits for one that was passed often enough."""
        capacity = self.capacity
        line = list(self.line.values())
        held = {one.job_id for one in line if decide(one, line, capacity).reason == "held"}
        fitting = [one for one in line if not capacity.too_large(one) and not capacity.obstacles(one)]
        assert all(one.job_id in held for one in fitting), "no slot is idle that somebody may have"


def heads(line: list[Request]) -> list[Request]:
    """The first of each class, and the first of those in it that have been passed often enough."""
    first: dict[tuple[Any, ...], Request] = {}
    for one in sorted(line, key=lambda one: one.place):
        passed_often = one.bypass_count >= BYPASS_LIMIT
        first.setdefault((one.slots, one.pool, one.throttle, passed_often), one)
    return list(first.values())


LINES = st.lists(
    st.builds(
        request,
        st.integers(1, 99),
        st.integers(1, 3),
        st.sampled_from(POOLS),
        next_run_at=st.integers(0, 9),
        priority=st.integers(-1, 1),
        bypass_count=st.integers(0, BYPASS_LIMIT),
        throttle=st.sampled_from([0, ARRAY]),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda one: one.job_id,
)
SCOPES = st.sampled_from([STORE, "cpu", "gpu", array_scope(ARRAY)])


@settings(max_examples=300)
@given(LINES, st.dictionaries(SCOPES, st.integers(1, 4)), st.dictionaries(SCOPES, st.integers(0, 4)))
def test_the_heads_of_the_line_decide_as_the_whole_line_does(
    line: list[Request], limits: dict[str, int], used: dict[str, int]
) -> None:
    capacity = Capacity(limits, used)
    for mine in line:
        assert decide(mine, line, capacity) == decide(mine, heads(line), capacity)


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("arrive"),
            st.integers(1, 4),
            st.sampled_from(POOLS),
            st.sampled_from([0, 0, 0, 1, -1]),
            st.sampled_from([0, 0, ARRAY]),
            st.integers(0, 3),
        ),
        st.tuples(st.just("ask"), st.integers(0, 99)),
        st.tuples(st.just("finish"), st.integers(0, 99)),
        st.tuples(
            st.just("limit"),
            st.sampled_from([STORE, "cpu", "gpu", array_scope(ARRAY)]),
            st.none() | st.integers(1, 5),
        ),
    ),
    max_size=60,
)


@settings(max_examples=200)
@given(STEPS, st.randoms(use_true_random=False))
def test_in_any_history_the_rule_keeps_its_promises_and_nobody_starves(
    steps: list[tuple[Any, ...]], order: Random
) -> None:
    world = World()
    for name, *arguments in steps:
        getattr(world, name)(*arguments)
    world.settle(order)
    while world.running:
        world.finish(order.randrange(99))
        world.settle(order)
    # Whoever is left could not be admitted to an empty machine.
    assert all(world.capacity.too_large(one) for one in world.line.values())


@settings(max_examples=100)
@given(st.integers(2, 4), st.sampled_from(["", "cpu"]), st.randoms(use_true_random=False))
def test_a_large_request_is_admitted_however_many_small_ones_keep_coming(
    slots: int, pool: str, order: Random
) -> None:
    world = World()
    world.limit("cpu", 4)
    for _ in range(4):
        world.arrive(1, pool)
    world.settle(order)
    world.arrive(slots, pool)
    large = world.arrived
    for _ in range(BYPASS_LIMIT + 4 + 1):
        world.arrive(1, order.choice(["", "cpu", "free"]))
        world.settle(order)
        world.finish(order.randrange(99))
    world.settle(order)
    assert large not in world.line

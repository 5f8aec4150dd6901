from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.moment import HOUR, MINUTE, SECOND, Deadline, Now, Stopwatch, after
from tests.builders import BOOT, START, later

DURATIONS = st.integers(0, 1000 * HOUR)
JUMPS = st.integers(-1000 * HOUR, 1000 * HOUR)


def jumped(now: Now, jump: int) -> Now:
    """The same instant, with the wall clock set."""
    return now._replace(wall=now.wall + jump)


def rebooted(now: Now, wall: int, mono: int = 0) -> Now:
    """Another boot, `wall` microseconds later by the wall clock."""
    return Now(now.wall + wall, mono, "another boot")


# Deadlines.


@given(DURATIONS, DURATIONS, JUMPS)
def test_an_elapsed_delay_does_not_care_for_the_wall_clock(delay: int, passed: int, jump: int) -> None:
    now = jumped(later(passed), jump)
    deadline = after(START, delay)
    assert deadline.remaining(now) == delay - passed
    assert deadline.reached(now) == (passed >= delay)


@given(DURATIONS, JUMPS)
def test_an_absolute_time_follows_the_wall_clock(delay: int, jump: int) -> None:
    deadline = Deadline(START.wall + delay)
    assert deadline.remaining(jumped(START, jump)) == delay - jump


def test_a_deadline_is_reached_at_its_instant() -> None:
    for deadline in (after(START, MINUTE), Deadline(START.wall + MINUTE)):
        assert not deadline.reached(later(MINUTE - 1))
        assert deadline.reached(later(MINUTE))


@given(DURATIONS, DURATIONS, st.integers(0, HOUR))
def test_after_a_reboot_an_elapsed_delay_goes_by_the_wall_clock(delay: int, passed: int, mono: int) -> None:
    assert after(START, delay).remaining(rebooted(START, passed, mono)) == delay - passed


def test_a_suspended_machine_does_not_use_up_an_elapsed_delay() -> None:
    asleep = START._replace(wall=START.wall + 8 * HOUR)
    assert after(START, MINUTE).remaining(asleep) == MINUTE


# Stopwatches.


@given(DURATIONS, DURATIONS, JUMPS)
def test_a_running_watch_does_not_care_for_the_wall_clock(used: int, passed: int, jump: int) -> None:
    watch = Stopwatch(used).start(START)
    assert watch.elapsed(jumped(later(passed), jump)) == used + passed


@given(DURATIONS, DURATIONS)
def test_a_halted_watch_stands_still(used: int, passed: int) -> None:
    assert Stopwatch(used).elapsed(later(passed)) == used
    assert Stopwatch(used).halt(later(passed)) == Stopwatch(used)


@given(st.lists(st.tuples(st.booleans(), DURATIONS), max_size=20))
def test_a_watch_adds_up_just_the_times_in_which_it_ran(periods: list[tuple[bool, int]]) -> None:
    watch, now = Stopwatch(), START
    for runs, length in periods:
        watch = watch.start(now) if runs else watch.halt(now)
        now = later(length, now)
    assert watch.elapsed(now) == sum(length for runs, length in periods if runs)


@given(DURATIONS, JUMPS, st.integers(0, HOUR))
def test_after_a_reboot_the_difference_of_the_wall_clock_is_added_but_never_a_negative_one(
    used: int, difference: int, mono: int
) -> None:
    watch = Stopwatch(used).start(START)
    assert watch.elapsed(rebooted(START, difference, mono)) == used + max(difference, 0)


@given(DURATIONS, DURATIONS, DURATIONS)
def test_what_was_used_before_a_reboot_is_kept_when_the_watch_goes_on(one: int, off: int, two: int) -> None:
    boot = rebooted(later(one), off, mono=3 * SECOND)
    watch = Stopwatch().start(START).start(boot)
    assert watch.elapsed(later(two, boot)) == one + off + two


@pytest.mark.parametrize("now", [later(-HOUR), rebooted(START, -HOUR)])
def test_time_never_runs_backwards(now: Now) -> None:
    assert Stopwatch(5).start(START).elapsed(now) == 5


def test_a_watch_knows_on_which_boot_it_runs() -> None:
    assert Stopwatch(7).start(START) == Stopwatch(7, START.wall, START.mono, BOOT)

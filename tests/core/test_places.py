from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inturn.core.moment import MINUTE, SECOND
from inturn.core.places import Places

FOR_EVER = 10 * MINUTE


def test_as_long_as_everything_can_be_started_there_are_as_many_as_were_wanted() -> None:
    places = Places(3)
    assert (places.limit(0), places.reduced) == (3, False)
    places.running(3, SECOND)
    assert (places.limit(SECOND), places.reduced) == (3, False)


def test_of_those_that_were_claimed_together_those_that_could_be_started_are_the_limit() -> None:
    places = Places(5)
    for held in (4, 3, 2):
        places.lacked(held, 7)
    assert (places.limit(7), places.reduced) == (2, True)
    assert places.wait(7) == SECOND


def test_one_more_is_tried_after_a_pause_that_grows_as_long_as_that_fails() -> None:
    places = Places(5)
    mono, waits = 0, []
    for _ in range(9):
        places.lacked(2, mono)
        waits.append(places.wait(mono) // SECOND)
        assert places.limit(mono) == 2
        mono += places.wait(mono)
        assert places.limit(mono) == 3
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_each_success_gives_one_more_until_there_are_all() -> None:
    places = Places(4)
    places.lacked(0, 0)
    mono = 0
    for number in (1, 2, 3, 4):
        mono += places.wait(mono)
        assert places.limit(mono) == number
        places.running(number, mono)
        assert places.limit(mono) == number
    assert not places.reduced
    assert places.limit(FOR_EVER) == 4


def test_after_a_success_the_pause_is_short_again() -> None:
    places = Places(5)
    for mono in (0, MINUTE, 2 * MINUTE):
        places.lacked(1, mono)
    places.running(2, 3 * MINUTE)
    assert places.wait(3 * MINUTE) == SECOND


def test_that_a_run_is_replaced_says_nothing_of_one_more() -> None:
    places = Places(5)
    places.lacked(2, 0)
    places.running(2, 1)
    places.running(1, 2)
    assert (places.limit(2), places.wait(2)) == (2, SECOND - 2)


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 2 * MINUTE)))


@given(st.integers(1, 8), STEPS)
def test_whatever_happens_it_is_never_more_than_wanted_and_one_more_is_tried_within_a_minute(
    wanted: int, steps: list[tuple[bool, int, int]]
) -> None:
    places, mono = Places(wanted), 0
    for lacks, number, passed in steps:
        mono += passed
        before = places.limit(mono)
        (places.lacked if lacks else places.running)(number, mono)
        assert 0 <= places.limit(mono) <= wanted
        assert places.wait(mono) <= MINUTE
        assert not lacks or places.limit(mono) <= max(before, 1)
        assert places.limit(mono + MINUTE) > 0

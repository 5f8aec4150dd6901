from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.moment import SECOND
from inturn.core.polling import (
    BASE_INTERVAL,
    LONGEST_INTERVAL,
    MOST_LOOKS_PER_SECOND,
    jittered,
    poll_interval,
)

INTERVALS = st.integers(0, 3600 * SECOND)
DRAWS = st.floats(0, 1, exclude_max=True)
CROWDS = st.integers(0, 100_000)
BUDGETS = st.integers(1, MOST_LOOKS_PER_SECOND)


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        (0, 100_000),
        (1, 100_000),
        (2, 200_000),
        (3, 300_000),
        (20, 2_000_000),
        (999, 99_900_000),
        (1_000, 100_000_000),
        (50_000, 100_000_000),
    ],
)
def test_all_owners_share_ten_polls_a_second(owners: int, expected: int) -> None:
    assert poll_interval(owners) == expected


@given(CROWDS, BUDGETS)
def test_all_owners_together_stay_within_the_budget_until_the_longest_interval(
    owners: int, looks: int
) -> None:
    interval = poll_interval(owners, looks)
    assert owners * SECOND <= looks * interval or interval == LONGEST_INTERVAL


@given(CROWDS, CROWDS, BUDGETS)
def test_a_larger_crowd_never_polls_more_often_each(one: int, other: int, looks: int) -> None:
    assert poll_interval(min(one, other), looks) <= poll_interval(max(one, other), looks)


@given(CROWDS, BUDGETS, BUDGETS)
def test_a_larger_budget_never_makes_anybody_poll_more_rarely(owners: int, one: int, other: int) -> None:
    assert poll_interval(owners, max(one, other)) <= poll_interval(owners, min(one, other))


@given(CROWDS, BUDGETS)
def test_nobody_looks_more_often_than_at_the_base_nor_more_rarely_than_at_the_longest_interval(
    owners: int, looks: int
) -> None:
    assert BASE_INTERVAL <= poll_interval(owners, looks) <= LONGEST_INTERVAL


@given(INTERVALS, DRAWS)
def test_jitter_stays_within_ten_percent(interval: int, draw: float) -> None:
    assert interval * 9 <= jittered(interval, draw) * 10 <= interval * 11


@given(INTERVALS, DRAWS, DRAWS)
def test_a_larger_draw_never_gives_a_shorter_interval(interval: int, one: float, other: float) -> None:
    assert jittered(interval, min(one, other)) <= jittered(interval, max(one, other))


def test_jitter_reaches_both_ends_and_is_spread_evenly() -> None:
    assert jittered(100_000, 0.0) == 90_000
    assert jittered(100_000, 0.5) == 100_000
    assert jittered(100_000, 1 - 2**-53) == 110_000

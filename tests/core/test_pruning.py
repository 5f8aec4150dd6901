from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inturn.core.pruning import behind, choose

IDS = st.integers(1, 12)


def test_what_nobody_needs_goes_the_newest_first() -> None:
    assert choose({1: None, 2: None, 3: None}, [], {}).removable == (3, 2, 1)


def test_a_job_stays_as_long_as_its_dependent_does_and_so_does_what_it_needs_itself() -> None:
    found = choose({1: None, 2: None, 3: None, 4: None}, [(1, 2), (2, 9), (3, 4)], {})
    assert (found.removable, found.needed, found.arrays) == ((4, 3), (1, 2), ())


def test_an_array_of_which_something_stays_stays_as_a_whole_with_what_it_needs() -> None:
    picked = {1: None, 2: 2, 3: 2, 4: 4, 5: 4}
    found = choose(picked, [(1, 3), (4, 9)], {2: 3, 4: 2})
    assert found.removable == ()
    assert (found.needed, found.arrays) == ((1, 4), (2, 3, 5))


@given(
    st.dictionaries(IDS, st.sampled_from([None, 1, 2])),
    st.lists(st.tuples(IDS, IDS)),
    st.fixed_dictionaries({1: st.integers(0, 4), 2: st.integers(0, 4)}),
)
def test_nothing_goes_that_something_which_stays_needs_and_no_more_stays_than_that(
    picked: dict[int, int | None], needs: list[tuple[int, int]], sizes: dict[int, int]
) -> None:
    found = choose(picked, needs, sizes)
    going = set(found.removable)
    assert sorted((*going, *found.needed, *found.arrays)) == sorted(picked)
    for job, dependent in needs:
        assert job not in going or dependent in going
    for array in (1, 2):
        members = {job for job, its in picked.items() if its == array}
        assert not members & going or (members <= going and len(members) >= sizes[array])
    assert going == _largest(picked, needs, sizes)


def _largest(picked: dict[int, int | None], needs: list[tuple[int, int]], sizes: dict[int, int]) -> set[int]:
    """The same by removing, again and again, whatever breaks a rule."""
    left = set(picked)
    while True:
        bad = {job for job, dependent in needs if job in left and dependent not in left}
        for array in (1, 2):
            members = {job for job, its in picked.items() if its == array}
            if len(members) < sizes[array] or not members <= left:
                bad |= members & left
        if not bad:
            return left
        left -= bad


def test_a_directory_of_logs_is_behind_when_the_last_id_is_beyond_it() -> None:
    assert behind([0, 1, 2, 3], 1999) == [0]
    assert behind([0, 1, 2, 3], 2000) == [0, 1]
    assert behind([7, 0], 0) == []


def test_the_newest_directory_of_logs_never_is_even_if_it_is_not_that_of_the_last_id() -> None:
    assert behind([4, 0], 9000) == [0]
    assert behind([4], 9000) == []
    assert behind([], 9000) == []

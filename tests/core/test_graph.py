"""Circles among jobs that are submitted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.graph import find_cycle


@pytest.mark.parametrize(
    "graph",
    [
        {},
        {"a": []},
        {"a": ["b"], "b": ["c"], "c": []},
        {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []},
        {"a": ["elsewhere"], "b": ["a", "elsewhere"]},
        {"a": ["b", "b", "b"], "b": []},
    ],
)
def test_a_graph_without_a_circle_has_none(graph: Mapping[str, Sequence[str]]) -> None:
    assert find_cycle(graph) is None


@pytest.mark.parametrize(
    ("graph", "cycle"),
    [
        ({"a": ["a"]}, ["a", "a"]),
        ({"a": ["b"], "b": ["a"]}, ["a", "b", "a"]),
        ({"start": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}, ["a", "b", "c", "a"]),
        ({"a": ["leaf", "b"], "leaf": [], "b": ["leaf", "a"]}, ["a", "b", "a"]),
        ({"x": [], "y": ["x"], "z": ["y", "z"]}, ["z", "z"]),
    ],
)
def test_a_circle_is_told_as_the_way_that_leads_around(
    graph: Mapping[str, Sequence[str]], cycle: list[str]
) -> None:
    assert find_cycle(graph) == cycle


def test_a_hundred_thousand_jobs_in_a_row_are_no_recursion() -> None:
    length = 100_000
    chain = {str(number): [str(number + 1)] for number in range(length)}
    assert find_cycle(chain) is None
    chain[str(length)] = ["0"]
    found = find_cycle(chain)
    assert found is not None
    assert len(found) == length + 2


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdefx"), max_size=4)))
def test_a_circle_is_found_if_there_is_one_and_is_one(graph: dict[str, list[str]]) -> None:
    found = find_cycle(graph)
    if found is None:
        # Then all can be taken away, one by one, that wait for nobody who is still there.
        left = dict(graph)
        while left:
            free = [name for name, others in left.items() if not left.keys() & set(others)]
            assert free
            for name in free:
                del left[name]
    else:
        assert found[0] == found[-1]
        assert len(set(found[1:])) == len(found) - 1
        assert all(later in graph[name] for name, later in pairwise(found))

from __future__ import annotations

from typing import Any

import pytest

from inturn.core.drain import Candidate, settled
from inturn.core.held import Held, Lane

HELD = Held(frozenset({"gpu"}), frozenset({"gpu", "io"}))


def test_a_request_is_kept_back_by_its_queue_and_by_its_pool() -> None:
    assert HELD.over("gpu", "") == (Lane("queue", "gpu"),)
    assert HELD.over("", "gpu") == (Lane("pool", "gpu"),)
    assert HELD.over("gpu", "io") == (Lane("queue", "gpu"), Lane("pool", "io"))


def test_who_is_in_no_queue_and_in_no_pool_is_never_kept_back() -> None:
    assert HELD.over("", "") == ()
    assert HELD.over("cpu", "analysis") == ()
    assert Held().over("gpu", "gpu") == ()


def nobody(job_id: int) -> Candidate:
    raise AssertionError(f"job {job_id} need not be looked at")


def queued(**fields: Any) -> Candidate:
    wanted = {"due": True, "supervised": False, "served": True, "parents": (), **fields}
    return Candidate(**{"id": 1, "phase": "queued", "held_phase": None, "attempts": 0, **wanted})


@pytest.mark.parametrize("fields", [{}, {"attempts": 1}, {"attempts": 1, "due": False}])
def test_what_stands_in_a_held_lane_does_not_hold_a_drain_open(fields: dict[str, Any]) -> None:
    assert not settled([queued(**fields)], nobody)
    assert settled([queued(**fields, held=True)], nobody)


def test_what_runs_in_a_held_lane_holds_a_drain_open() -> None:
    assert not settled([queued(phase="running", held=True)], nobody)
    assert not settled([queued(phase="paused", held_phase="running", held=True)], nobody)


@pytest.mark.parametrize("supervised", [False, True])
def test_who_waits_for_a_job_in_a_held_lane_waits_for_one_that_is_going_nowhere(supervised: bool) -> None:
    child = queued(phase="waiting", parents=(2,))
    for held in (False, True):
        parent = queued(id=2, supervised=supervised, held=held)
        assert settled([child], {2: parent}.__getitem__) == held

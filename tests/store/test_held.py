"""Queues and pools that are paused: who stands in them neither competes nor is admitted."""

from __future__ import annotations

from typing import Any

import pytest

from inturn.core.admission import STORE
from inturn.core.held import Held, Lane
from inturn.core.job import Job
from inturn.core.transitions import Event
from inturn.errors import InturnError
from inturn.store import admissions, held, lanes, owners, reads, settings
from inturn.store.db import Store
from inturn.store.settings import Pool
from tests.builders import START, Ring, add_job, add_owner, admit, commit, later, make_submission, supervised

QUEUE, POOL = Lane("queue", "q"), Lane("pool", "gpu")


def limit(store: Store, slots: int | None, pool: str = STORE) -> None:
    settings.set_pool(store, Pool(pool, slots, False))


def queued(store: Store, **fields: Any) -> Job:
    return add_job(store, make_submission(**{"queue": "q", **fields}))


def test_what_is_held_is_remembered_until_it_is_released(store: Store) -> None:
    with store.writing():
        assert held.load(store) == Held()
        assert held.hold(store, QUEUE, START)
        assert held.hold(store, POOL, START)
        assert not held.hold(store, QUEUE, later(1))
        assert held.load(store) == Held(frozenset({"q"}), frozenset({"gpu"}))
        assert held.release(store, QUEUE)
        assert not held.release(store, QUEUE)
    assert held.load(store) == Held(pools=frozenset({"gpu"}))


def test_only_queues_and_pools_can_be_held(store: Store) -> None:
    with pytest.raises(InturnError, match="CHECK"), store.writing():
        store.execute("INSERT INTO held VALUES ('store', 'x', 0)")


@pytest.mark.parametrize("lane", [QUEUE, POOL])
def test_the_line_leaves_out_who_stands_in_a_held_lane(store: Store, lane: Lane) -> None:
    with store.writing():
        limit(store, 9)
        limit(store, None, "gpu")
        inside, outside = queued(store, pool="gpu"), add_job(store, make_submission(queue="other"))
        assert {one.request.job_id for one in admissions.heads(store)} == {inside.id, outside.id}
        held.hold(store, lane, START)
        assert [one.request.job_id for one in admissions.heads(store)] == [outside.id]
        held.release(store, lane)
        assert {one.request.job_id for one in admissions.heads(store)} == {inside.id, outside.id}


def test_a_class_behind_a_held_one_is_still_found(store: Store) -> None:
    with store.writing():
        limit(store, None, "gpu")
        jobs = [queued(store, pool=pool, slots=slots) for pool in ("", "gpu") for slots in (1, 2)]
        held.hold(store, POOL, START)
        assert [one.request.job_id for one in admissions.heads(store)] == [job.id for job in jobs[:2]]
        assert admissions.heads(store, "gpu") == []


def test_a_request_for_a_held_pool_is_refused_though_there_is_room(store: Store) -> None:
    with store.writing():
        limit(store, 4, "gpu")
        job, _ = supervised(store, pool="gpu")
        assert admissions.settle(store, job, START).reason == "admitted"
        held.hold(store, POOL, START)
        assert admissions.settle(store, job, START) == admissions.PAUSED
        assert (admissions.PAUSED.admitted, admissions.PAUSED.reason) == (False, "paused")


def test_a_request_without_any_limit_is_refused_too(store: Store) -> None:
    with store.writing():
        job = queued(store)
        held.hold(store, QUEUE, START)
        assert admissions.settle(store, job, START).reason == "paused"


def test_nobody_waits_for_who_is_held_and_nobody_passes_him(store: Store) -> None:
    with store.writing():
        limit(store, 2)
        limit(store, None, "gpu")
        wide, _ = supervised(store, "wide", pool="gpu", slots=2)
        running, _ = supervised(store, "running")
        admit(store, running)
        mine, _ = supervised(store, "mine")
        assert admissions.settle(store, mine, START).passed is not None
        held.hold(store, POOL, START)
        assert admissions.settle(store, mine, START).passed is None
        admissions.release(store, running.id)
        assert admissions.settle(store, mine, START).admitted
        held.release(store, POOL)
        assert admissions.settle(store, mine, START).other == admissions.request_of(wide)


def test_who_is_held_is_not_woken_before_he_is_released(store: Store, ring: Ring) -> None:
    with store.writing():
        limit(store, 1, "gpu")
        supervised(store, "mine", pool="gpu")
        held.hold(store, POOL, START)
    ring.told.clear()
    with store.writing():
        admissions.wake_admissible(store, START)
    assert ring.told == []
    with store.writing():
        held.release(store, POOL)
        admissions.wake_admissible(store, START)
    assert ring.told == [{"mine"}]


@pytest.mark.parametrize("lane", [QUEUE, POOL])
def test_what_stands_in_a_held_lane_does_not_hold_a_drain_open(store: Store, lane: Lane) -> None:
    with store.writing():
        limit(store, None, "gpu")
        worker = add_owner(store, "worker", "worker")
        owners.serve(store, worker, {"q": None, "other": None}, 1)
        job = queued(store, pool="gpu")
        waiting = add_job(store, make_submission(queue="other"), edges={job.id: ("success",)})
        assert not lanes.is_settled(store, ["q"])
        assert not lanes.is_settled(store, ["other"])
        held.hold(store, lane, START)
        assert lanes.is_settled(store, ["q"])
        assert lanes.is_settled(store, ["other"])
        queued(store, pool="gpu" if lane == QUEUE else "", queue="q" if lane == POOL else "other")
        assert not lanes.is_settled(store, ["q", "other"])
    assert waiting.phase == "waiting"


def test_what_runs_in_a_held_queue_holds_a_drain_open(store: Store) -> None:
    with store.writing():
        worker = add_owner(store, "worker", "worker")
        job = admit(store, queued(store), worker)
        held.hold(store, QUEUE, START)
        assert not lanes.is_settled(store, ["q"])
        commit(store, commit(store, job, Event("started", "running")).after, Event("paused", "paused"))
        assert not lanes.is_settled(store, ["q"])


def test_the_holders_of_a_lane_are_found_by_their_phase(store: Store) -> None:
    with store.writing():
        limit(store, None, "gpu")
        worker = add_owner(store, "worker", "worker")
        starting, running, paused = (admit(store, queued(store, pool="gpu"), worker) for _ in range(3))
        commit(store, running, Event("started", "running"))
        commit(store, commit(store, paused, Event("started", "running")).after, Event("paused", "paused"))
        queued(store, pool="gpu")
        admit(store, queued(store, queue="other"), worker)
        for lane in (QUEUE, POOL):
            assert held.holders_in(store, lane, ("starting", "running")) == [starting.id, running.id]
            assert held.holders_in(store, lane, ("paused",)) == [paused.id]
        assert held.holders_in(store, Lane("pool", "other"), ("starting",)) == []


def test_a_pool_that_gets_the_name_of_a_removed_one_is_not_held(store: Store) -> None:
    with store.writing():
        limit(store, 1, "gpu")
        held.hold(store, POOL, START)
        held.hold(store, Lane("queue", "gpu"), START)
        limit(store, 2, "gpu")
        assert held.load(store).pools == {"gpu"}
        settings.remove_pool(store, "gpu")
        limit(store, 1, "gpu")
    assert held.load(store) == Held(frozenset({"gpu"}))


def test_a_look_at_the_capacities_shows_what_is_held(store: Store) -> None:
    with store.writing():
        limit(store, 1, "gpu")
        limit(store, 1, "io")
        held.hold(store, POOL, START)
    with store.reading():
        found = {scope.name: scope.paused for scope in reads.scopes(store, {})}
    assert found == {STORE: False, "gpu": True, "io": False}

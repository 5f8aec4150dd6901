"""Who is to be told, by anybody who happens to look, that it may be admitted."""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.core.held import Lane
from inturn.core.job import Job
from inturn.core.moment import HOUR
from inturn.store import admissions, held, owners
from inturn.store.db import Store
from tests.builders import START, add_job, add_owner, add_worker, admit, make_submission, supervised


def limit(store: Store, slots: int, pool: str = STORE) -> None:
    store.execute("INSERT INTO pools (name, slots, declared) VALUES (?, ?, 0)", (pool, slots))


def stand_in_line(store: Store, count: int) -> list[Job]:
    return [supervised(store, f"owner {number}")[0] for number in range(count)]


def test_the_first_in_line_is_to_be_told_of_a_free_slot(store: Store) -> None:
    with store.writing():
        limit(store, 1)
        stand_in_line(store, 3)
    assert admissions.overlooked(store, 0, START) == ["owner 0"]


def test_nobody_is_to_be_told_while_there_is_no_room(store: Store) -> None:
    with store.writing():
        limit(store, 1)
        first, *_ = stand_in_line(store, 3)
        admit(store, first)
    assert admissions.overlooked(store, 0, START) == []


def test_where_nothing_is_limited_many_are_told_at_once(store: Store) -> None:
    """For whoever is admitted there tells nobody."""
    with store.writing():
        stand_in_line(store, admissions.REMINDED_AT_ONCE + 3)
    told = admissions.overlooked(store, 0, START)
    assert told == [f"owner {number}" for number in range(admissions.REMINDED_AT_ONCE)]


def test_who_looks_does_not_tell_itself(store: Store) -> None:
    with store.writing():
        _, me = supervised(store, "mine")
        supervised(store, "other")
    assert admissions.overlooked(store, me, START) == ["other"]


def test_a_worker_with_a_free_place_is_told_of_a_job_in_its_queue(store: Store) -> None:
    with store.writing():
        worker = add_owner(store, "worker", "worker")
        add_job(store)
        add_job(store, make_submission(queue="nobody serves it"))
    assert admissions.overlooked(store, 0, START) == []
    with store.writing():
        owners.serve(store, worker, {"default": None}, 1)
    assert admissions.overlooked(store, 0, START) == ["worker"]


def test_as_many_workers_are_told_as_there_are_jobs_for_them(store: Store) -> None:
    with store.writing():
        for number in range(5):
            add_worker(store, f"worker {number}")
        for _ in range(3):
            add_job(store)
    assert len(set(admissions.overlooked(store, 0, START))) == 3


def test_nobody_is_told_of_what_is_not_due_or_is_paused(store: Store) -> None:
    with store.writing():
        supervised(store, "late", delay=HOUR)
        supervised(store, "paused", pool="gpu")
        held.hold(store, Lane("pool", "gpu"), START)
    assert admissions.overlooked(store, 0, START) == []


def test_who_waits_for_a_time_of_day_is_told_when_the_clock_has_jumped_past_it(store: Store) -> None:
    with store.writing():
        supervised(store, "tomorrow", at=START.wall + 24 * HOUR)
        supervised(store, "soon", delay=HOUR)
    assert admissions.overlooked(store, 0, START) == []
    jumped = START._replace(wall=START.wall + 24 * HOUR)
    assert admissions.overlooked(store, 0, jumped) == ["tomorrow"]

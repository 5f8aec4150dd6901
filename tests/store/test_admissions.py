from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.admission import STORE, Capacity, Request, decide
from inturn.core.held import Lane
from inturn.core.job import IN_LINE, NOT_IN_LINE, SILENT, Job
from inturn.core.moment import HOUR, MINUTE, SECOND, Now, after
from inturn.core.transitions import Event
from inturn.owners.admit import prospect
from inturn.store import admissions, due, held, owners
from inturn.store.admissions import PATIENCE
from inturn.store.db import Store
from tests.builders import (
    CANCEL,
    START,
    Ring,
    add_job,
    add_owner,
    add_worker,
    admit,
    commit,
    counted,
    ended,
    later,
    make_run,
    make_submission,
    reread,
    running,
    supervised,
    tallies,
)
from tests.store.strategies import one_store


def limit(store: Store, slots: int | None, pool: str = STORE, **columns: Any) -> None:
    names = ", ".join(["name", "slots", "declared", *columns])
    marks = ", ".join("?" * (3 + len(columns)))
    store.execute(f"INSERT INTO pools ({names}) VALUES ({marks})", (pool, slots, 0, *columns.values()))


def in_line(store: Store, job: Job) -> int:
    return reread(store, job).in_line


def settle(store: Store, job: Job, now: Now = START) -> str:
    """The reason of the decision on a job as it is now."""
    return admissions.settle(store, reread(store, job), now).reason


@contextmanager
def undone(store: Store) -> Iterator[None]:
    """A write transaction of which nothing is kept."""
    store.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        store.execute("ROLLBACK")


# Capacity.


def test_capacity_is_what_the_admissions_have_taken(store: Store) -> None:
    with store.writing():
        limit(store, 9)
        limit(store, 4, "gpu")
        limit(store, None, "free")
        jobs_ = [
            supervised(store, str(number), pool=pool, slots=slots)[0]
            for number, (pool, slots) in enumerate([("gpu", 2), ("gpu", 1), ("free", 5), ("", 1)])
        ]
        for job in jobs_[:3]:
            admit(store, job)
        room = admissions.capacity(store)
        assert room.limits == {STORE: 9, "gpu": 4}
        assert (room.used[STORE], room.used["gpu"]) == (8, 3)
        admissions.release(store, jobs_[0].id)
        admissions.release(store, jobs_[0].id)
        room = admissions.capacity(store)
        assert (room.used[STORE], room.used["gpu"]) == (6, 1)


def test_an_empty_store_has_nothing_in_use(store: Store) -> None:
    limit(store, 2)
    assert admissions.capacity(store).used.get(STORE, 0) == 0


def test_devices_are_free_by_name_and_shared_as_often_as_the_pool_says(store: Store) -> None:
    with store.writing():
        limit(store, 4, "gpu", devices="0,1", per_device=2)
        first, me = supervised(store, "a", pool="gpu")
        assert admissions.devices_for(store, first) == "0"
        run = make_run(first, devices="0")
        commit(store, first, Event("admitted", "starting", run=run, owner=me))
        assert admissions.capacity(store).devices == {"gpu": [1, 2]}
        second, _ = supervised(store, "b", pool="gpu", slots=2)
        assert admissions.devices_for(store, second) == "0,1"
        outside, _ = supervised(store, "c")
        assert admissions.devices_for(store, outside) == ""


# The line.


def test_the_line_shows_the_head_of_each_class(store: Store) -> None:
    with store.writing():
        limit(store, 9)
        wanted = []
        for number, (slots, pool, priority) in enumerate(
            [(1, "", 0), (1, "", 0), (1, "", 5), (2, "", 0), (1, "gpu", 0), (1, "gpu", -1)]
        ):
            job, _ = supervised(store, str(number), slots=slots, pool=pool, priority=priority)
            wanted.append(job)
        line = admissions.line(store, {STORE: 9})
    assert {request.job_id for request in line} == {wanted[number].id for number in (2, 3, 4)}
    assert all(
        request == admissions.request_of(reread(store, wanted[request.job_id - 1])) for request in line
    )


def test_a_pool_without_a_limit_in_a_store_without_one_has_no_line(store: Store) -> None:
    with store.writing():
        supervised(store, "a", pool="free")
        mine, _ = supervised(store, "b", pool="free")
        other, _ = supervised(store, "c", pool="gpu")
        assert admissions.line(store, {}, admissions.request_of(mine)) == []
        alone = admissions.line(store, {"gpu": 1, "free": 1}, admissions.request_of(other))
    assert [request.job_id for request in alone] == [other.id]


def test_who_is_not_there_to_take_the_slots_does_not_compete(store: Store) -> None:
    with store.writing():
        limit(store, 1)
        dead, owner = supervised(store, "dead")
        owners.bury(store, owner, START)
        unserved = add_job(store, make_submission(queue="q"))
        mine, _ = supervised(store, "mine")
        assert settle(store, mine) == "admitted"
        worker = add_owner(store, "worker", "worker")
        owners.serve(store, worker, {"q": None}, 1)
        assert settle(store, mine) == "yields"
        owners.stop_accepting(store, worker)
        assert settle(store, mine) == "admitted"
    assert (in_line(store, dead), in_line(store, unserved)) == (SILENT, IN_LINE)


@pytest.mark.parametrize(("ceiling", "places"), [(1, 9), (None, 1)])
def test_a_worker_without_a_free_place_or_under_its_ceiling_lets_others_go_first(
    store: Store, ceiling: int | None, places: int
) -> None:
    with store.writing():
        limit(store, 2)
        worker = add_owner(store, "worker", "worker")
        owners.serve(store, worker, {"q": ceiling}, places)
        busy = add_job(store, make_submission(queue="q"))
        add_job(store, make_submission(queue="q"))
        mine, _ = supervised(store, "mine")
        assert settle(store, mine) == "yields"
        admit(store, busy, worker)
        assert settle(store, mine) == "admitted"


CLASSES = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.sampled_from(["", "gpu", "free"]),
        st.integers(-1, 1),
        st.integers(0, 2),
        st.sampled_from(["", "", "served", "unserved"]),
    ),
    min_size=1,
    max_size=8,
)


@one_store
@given(CLASSES, st.integers(0, 4), st.integers(0, 2))
def test_the_store_decides_as_the_rule_does_on_the_whole_line(
    store: Store, classes: list[tuple[int, str, int, int, str]], used: int, in_gpu: int
) -> None:
    limits = {STORE: 4, "gpu": 2}
    with undone(store):
        for name, slots in limits.items():
            limit(store, slots, name)
        owners.serve(store, add_owner(store, "worker", "worker"), {"served": None}, 9)
        taken = [("", used - in_gpu)] if used > in_gpu else []
        taken += [("gpu", in_gpu)] if in_gpu else []
        for number, (pool, slots) in enumerate(taken):
            admit(store, supervised(store, f"holder {number}", pool=pool, slots=slots)[0])
        waiting = []
        for number, (slots, pool, priority, ago, queue) in enumerate(classes):
            asked = make_submission(slots=slots, pool=pool, priority=priority, queue=queue)
            owner = None if queue else add_owner(store, str(number))
            waiting.append(add_job(store, asked, owner, now=later(-ago)))
        whole = [admissions.request_of(job) for job in waiting if job.queue != "unserved"]
        room = Capacity(limits, {STORE: sum(slots for _, slots in taken), "gpu": in_gpu})
        for job in waiting:
            mine = admissions.request_of(job)
            assert admissions.settle(store, job, START) == decide(mine, whole, room)


# The cost does not grow with what is not in line.


class Plans:
    """Collects how SQLite goes about each statement that is run meanwhile."""

    def __init__(self, store: Store) -> None:
        self.steps: list[str] = []
        self._store = store

    def __enter__(self) -> Plans:
        self._store.connection.exec_trace = self._note
        return self

    def __exit__(self, *_: object) -> None:
        self._store.connection.exec_trace = None

    def _note(self, cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        explained = self._store.connection.cursor()
        explained.exec_trace = _run
        if sql.split(None, 1)[0] in ("SELECT", "UPDATE", "DELETE", "INSERT"):
            self.steps += [step for *_, step in explained.execute("EXPLAIN QUERY PLAN " + sql, bindings)]
        return True


def _run(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
    return True


def test_the_line_is_read_by_its_index_without_scanning_or_sorting_jobs(store: Store, contested: Job) -> None:
    with store.writing():
        add_job(store, make_submission(queue="q", delay=MINUTE))
    with store.writing(), Plans(store) as plans:
        admissions.settle(store, contested, START)
        due.promote(store, later(HOUR))
        due.promote(store, START._replace(boot="another"))
        due.is_anything_due(store, START)
        admissions.wake_admissible(store, START)
    about_jobs = [step for step in plans.steps if "jobs" in step.split()]
    assert any("USING INDEX jobs_line ((pool,queue,throttle,slots)>(?,?,?,?))" in step for step in about_jobs)
    assert any("INDEX jobs_due (due_boot=? AND due_at<?)" in step for step in about_jobs)
    assert not [step for step in about_jobs if not step.startswith("SEARCH")]
    assert not [step for step in plans.steps if "FOR ORDER BY" in step]


def crowd(store: Store, number: int) -> None:
    """Many jobs that do not compete: completed, delayed, and waiting ones of the best places."""
    jobs_ = [add_job(store, make_submission(queue="q", priority=9, delay=HOUR)) for _ in range(number)]
    for job in jobs_[::2]:
        commit(store, job, CANCEL)


def statements(store: Store, job: Job) -> int:
    """How many steps of SQLite's machine one decision takes."""
    ticks = 0

    def tick() -> bool:
        nonlocal ticks
        ticks += 1
        return False

    store.connection.set_progress_handler(tick, 1)
    try:
        admissions.settle(store, job, START)
    finally:
        store.connection.set_progress_handler(None)
    return ticks


@pytest.fixture
def contested(store: Store) -> Job:
    """A small request behind a large one that does not fit; returns the small one."""
    with store.writing():
        limit(store, 4)
        admit(store, supervised(store, "holder", slots=2)[0])
        supervised(store, "large", slots=3)
        return supervised(store, "small")[0]


def test_a_decision_is_the_same_and_costs_the_same_behind_5000_jobs_that_do_not_compete(
    store: Store, contested: Job
) -> None:
    with store.writing():
        crowd(store, 2)
        alone = admissions.settle(store, contested, START)
        cost = statements(store, contested)
        crowd(store, 5_000)
        assert admissions.settle(store, contested, START) == alone
        assert statements(store, contested) <= cost * 1.2
    assert (alone.admitted, alone.passed is not None) == (True, True)


# Bypasses.


def test_a_bypass_is_counted_on_the_passed_request_and_touches_nothing_else(
    store: Store, contested: Job
) -> None:
    with store.writing():
        decision = admissions.settle(store, contested, START)
        assert decision.passed is not None
        large = store.row("SELECT revision, epoch FROM jobs WHERE id = ?", (decision.passed.job_id,))
        for number in (1, 2, 3):
            admissions.count_bypass(store, decision.passed)
            row = store.row(
                "SELECT revision, epoch, bypass_count FROM jobs WHERE id = ?", (decision.passed.job_id,)
            )
            assert row == (*large, number)
        assert settle(store, contested) == "held"


def test_an_urgent_newcomer_of_its_class_does_not_take_away_what_a_passed_request_has_earned(
    store: Store, contested: Job
) -> None:
    with store.writing():
        store.execute("UPDATE jobs SET bypass_count = 3 WHERE slots = 3")
        assert settle(store, contested) == "held"
        supervised(store, "urgent", slots=3, priority=9)
        assert settle(store, contested) == "held"


# Silence.


@pytest.fixture
def offered(store: Store) -> tuple[Job, Job]:
    """Two requests for one free slot; returns the older and the younger one."""
    with store.writing():
        limit(store, 1)
        return supervised(store, "older")[0], supervised(store, "younger")[0]


def test_who_is_yielded_to_is_told_once(store: Store, ring: Ring, offered: tuple[Job, Job]) -> None:
    ring.told.clear()
    for elapsed in (0, SECOND):
        with store.writing():
            assert settle(store, offered[1], later(elapsed)) == "yields"
    assert ring.told == [{"older"}]


def test_who_leaves_an_offer_unanswered_for_longer_than_its_time_does_not_compete(
    store: Store, offered: tuple[Job, Job]
) -> None:
    older, younger = offered
    with store.writing():
        assert settle(store, younger) == "yields"
        assert settle(store, younger, later(PATIENCE - 1)) == "yields"
        assert settle(store, younger, later(PATIENCE)) == "admitted"
        assert in_line(store, older) == SILENT
        # Its status says as before that it is in line; neither revision nor ledger has changed.
        assert reread(store, older) == older._replace(in_line=SILENT)
    assert tallies(store) == counted(store)


def test_who_shows_up_again_is_back_at_its_old_place(store: Store, offered: tuple[Job, Job]) -> None:
    older, younger = offered
    with store.writing():
        settle(store, younger)
        settle(store, younger, later(PATIENCE))
        admissions.show_up(store, older)
        assert reread(store, older) == older
        assert settle(store, younger, later(PATIENCE)) == "yields"
        assert settle(store, older, later(PATIENCE)) == "admitted"


def test_one_that_was_cancelled_and_pruned_meanwhile_stands_nowhere(
    store: Store, offered: tuple[Job, Job]
) -> None:
    older, _ = offered
    gone = older._replace(id=99)
    with store.writing():
        admissions.show_up(store, gone)
    assert admissions.place_of(store, gone.id) == NOT_IN_LINE
    assert prospect(store, gone) is None


def test_who_answers_in_time_begins_a_new_patience(store: Store, offered: tuple[Job, Job]) -> None:
    older, younger = offered
    with store.writing():
        settle(store, younger)
        admissions.show_up(store, older)
        assert settle(store, younger, later(PATIENCE)) == "yields"
        assert settle(store, younger, later(2 * PATIENCE - 1)) == "yields"
        assert settle(store, younger, later(2 * PATIENCE)) == "admitted"


def test_an_offer_of_an_earlier_boot_is_none(store: Store, offered: tuple[Job, Job]) -> None:
    with store.writing():
        settle(store, offered[1])
        rebooted = Now(START.wall + HOUR, START.mono + HOUR, "another")
        assert settle(store, offered[1], rebooted) == "yields"


def test_an_offer_that_was_taken_away_does_not_count_as_left_unanswered(
    store: Store, offered: tuple[Job, Job]
) -> None:
    older, younger = offered
    with store.writing():
        assert settle(store, younger) == "yields"
        urgent, owner = supervised(store, "urgent", priority=9)
        urgent = admit(store, urgent)
        assert settle(store, older, later(SECOND)) == "full"
        run = ended(running(make_run(urgent)), "success")
        commit(
            store, urgent, Event("ended", "completed", None, "success", run=run), later(2 * PATIENCE), owner
        )
        assert settle(store, younger, later(2 * PATIENCE)) == "yields"


@pytest.mark.parametrize("delay", [0, HOUR])
def test_showing_up_moves_nobody_into_line_whose_time_has_not_come(store: Store, delay: int) -> None:
    with store.writing():
        job, _ = supervised(store, delay=delay)
        store.execute("UPDATE jobs SET yielded_mono = 1, yielded_boot = 'x' WHERE id = ?", (job.id,))
        admissions.show_up(store, job)
    assert reread(store, job) == job


def test_an_offer_is_forgotten_by_every_transition(store: Store, offered: tuple[Job, Job]) -> None:
    older, younger = offered
    with store.writing():
        settle(store, younger)
        paused = commit(store, older, Event("paused", "paused")).after
        resumed = commit(store, paused, Event("resumed", "queued"), later(PATIENCE)).after
        assert resumed.in_line == IN_LINE
        assert settle(store, younger, later(PATIENCE)) == "yields"


# Equal places.


def test_shards_that_one_job_has_held_up_are_admitted_in_the_order_of_their_ids(store: Store) -> None:
    with store.writing():
        limit(store, 2, "analysis")
        parent, me = supervised(store, "prepare")
        parent = admit(store, parent, me)
        shards = [
            add_job(
                store,
                make_submission(pool="analysis"),
                add_owner(store, str(number)),
                {parent.id: ("success",)},
            )
            for number in range(4)
        ]
        run = ended(running(make_run(parent)), "success", later(MINUTE))
        over = Event("ended", "completed", None, "success", run=run)
        commit(store, parent, over, later(MINUTE), me)
        waiting = [reread(store, shard) for shard in shards]
        assert {job.due.wall for job in waiting} == {later(MINUTE).wall}
        assert [settle(store, job) for job in waiting] == ["admitted", "yields", "yields", "yields"]
        admit(store, waiting[0])
        assert [settle(store, job) for job in waiting[1:]] == ["admitted", "yields", "yields"]
        admit(store, waiting[1])
        assert [settle(store, job) for job in waiting[2:]] == ["full", "full"]


def test_a_request_is_a_place_in_line_and_what_is_asked_for(store: Store) -> None:
    with store.writing():
        job, _ = supervised(store, pool="gpu", slots=2, priority=7)
    assert admissions.request_of(job) == Request(job.id, 7, START.wall, 2, "gpu", 0, 0)
    assert after(START, 0).wall == job.due.wall


# Who is told.


@pytest.mark.parametrize("count", [3, 40])
def test_when_the_last_limit_is_lifted_all_are_told_that_may_be_admitted(
    store: Store, ring: Ring, count: int
) -> None:
    with store.writing():
        limit(store, 1)
        holder, *_ = [supervised(store, str(number))[0] for number in range(count + 1)]
        admit(store, holder)
        supervised(store, "paused", pool="gpu")
        held.hold(store, Lane("pool", "gpu"), START)
    ring.told.clear()
    with store.writing():
        store.execute("DELETE FROM pools")
        admissions.wake_admissible(store, START)
    assert set().union(*ring.told) == {str(number + 1) for number in range(count)}


def test_when_a_limit_is_raised_the_first_is_told_who_has_the_next_one_told(store: Store, ring: Ring) -> None:
    with store.writing():
        limit(store, 1)
        holder, *_ = [supervised(store, str(number))[0] for number in range(5)]
        admit(store, holder)
    ring.told.clear()
    with store.writing():
        store.execute("UPDATE pools SET slots = 3")
        admissions.wake_admissible(store, START)
    assert set().union(*ring.told) == {"1"}


def test_of_jobs_that_are_queued_at_once_as_many_idle_workers_are_told_as_can_be_busy_with_them(
    store: Store, ring: Ring
) -> None:
    with store.writing():
        for number in range(5):
            add_worker(store, f"worker {number}")
        for _ in range(3):
            add_job(store)
    ring.told.clear()
    with store.writing():
        admissions.wake_admissible(store, START)
    assert len(set().union(*ring.told)) == 3

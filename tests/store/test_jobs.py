from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inturn.core.job import ACTIVE, OUTCOMES, Job
from inturn.core.moment import MINUTE, SECOND, after
from inturn.core.transitions import TABLE, Event, Transition, apply, holds_slots
from inturn.errors import InturnError
from inturn.store import jobs, newcomers, owners, specs
from inturn.store.db import Store
from inturn.store.transaction import Stale
from tests.builders import (
    CANCEL,
    START,
    Ring,
    add_job,
    add_owner,
    admit,
    commit,
    counted,
    ended,
    finish,
    later,
    make_condition,
    make_run,
    make_submission,
    new_store,
    reread,
    running,
    supervised,
    tallies,
)

# Reading.


def test_what_is_not_there_is_none(store: Store) -> None:
    assert jobs.load(store, 1) is None
    assert jobs.load_run(store, 1, 1) is None


def test_ids_are_never_reused(store: Store) -> None:
    with store.writing():
        first = add_job(store)
        store.execute("DELETE FROM jobs")
        second = add_job(store)
    assert second.id > first.id


# Submitting.


def test_a_submission_is_stored_with_its_tags_its_key_and_its_event(store: Store) -> None:
    asked = make_submission(queue="gpu", key="nightly", tags=(("run", "7"), ("quick", None)), name="train")
    with store.writing():
        job = add_job(store, asked)
    assert reread(store, job) == job
    assert store.execute("SELECT tag, value FROM tags ORDER BY tag").fetchall() == [
        ("quick", None),
        ("run", "7"),
    ]
    assert store.execute("SELECT key, job_id FROM keys").fetchall() == [("nightly", job.id)]
    assert events(store) == [(job.id, "submitted", None, "queued", None, None)]


def events(store: Store) -> list[tuple[Any, ...]]:
    rows = store.execute("SELECT job_id, kind, source, target, reason, run FROM events ORDER BY id")
    return rows.fetchall()


def test_a_key_is_taken_as_long_as_its_job_is_not_completed(store: Store) -> None:
    keyed = make_submission(queue="gpu", key="nightly")
    with store.writing():
        first = add_job(store, keyed)
        with pytest.raises(apsw.ConstraintError, match="key"):
            add_job(store, keyed)
        commit(store, first, Event("cancelled", "completed", "requested", "cancelled"))
        second = add_job(store, keyed)
    assert store.execute("SELECT job_id FROM keys").fetchall() == [(second.id,)]


def test_the_first_job_of_an_array_gives_it_its_id(store: Store) -> None:
    plain = make_submission(queue="gpu")
    asked = [plain, *(plain._replace(array_index=n, array_size=2, at_once=1) for n in (1, 2)), plain]
    with store.writing():
        environment = specs.environment_id(store, ())
        drafts = [newcomers.draft(one, False, False, START) for one in asked]
        ids = newcomers.insert_all(store, drafts, [None] * 4, [environment] * 4, START)
    stored = [jobs.load(store, number) for number in ids]
    first = ids[1]
    arrays = [(job.array_id, job.array_index, job.throttle) for job in stored if job is not None]
    assert arrays == [(None, None, 0), (first, 1, first), (first, 2, first), (None, None, 0)]
    assert store.execute("SELECT id, size, at_once FROM arrays").fetchall() == [(first, 2, 1)]


# Committing: one transition.


def test_every_transition_is_stored_as_it_was_computed_with_its_event(store: Store) -> None:
    with store.writing():
        job, me = supervised(store)
        job = admit(store, job, me)
        job = commit(store, job, Event("started", "running", run=running(make_run(job))), later(1), me).after
        assert reread(store, job) == job
        job = finish(store, job, me)
    assert reread(store, job) == job
    assert events(store) == [
        (job.id, "submitted", None, "submitting", None, None),
        (job.id, "accepted", "submitting", "queued", None, None),
        (job.id, "admitted", "queued", "starting", None, 1),
        (job.id, "started", "starting", "running", None, 1),
        (job.id, "ended", "running", "completed", "success", 1),
    ]


def test_transitions_that_follow_one_upon_the_other_are_stored_as_if_one_by_one(store: Store) -> None:
    with store.writing():
        job, me = supervised(store)
        job = admit(store, job, me)
        run = running(make_run(job), later(1))
        started = apply(job, Event("started", "running", run=run), later(1))
        event = Event("ended", "completed", None, "success", run=ended(run, "success", later(2)))
        over = apply(started.after, event, later(2))
        jobs.commit(store, [started, over], later(2), me)
        assert reread(store, job) == over.after
    assert jobs.load_run(store, job.id, 1) == over.event.run
    assert events(store)[-2:] == [
        (job.id, "started", "starting", "running", None, 1),
        (job.id, "ended", "running", "completed", "success", 1),
    ]
    assert admissions_of(store) == []


def test_the_ledger_can_only_grow(store: Store) -> None:
    with store.writing():
        add_job(store)
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        store.execute("UPDATE events SET reason = 'another'")


def admissions_of(store: Store) -> list[tuple[Any, ...]]:
    rows = store.execute("SELECT job_id, run, owner, pool, queue, slots, granted_at FROM admissions")
    return rows.fetchall()


def test_slots_are_charged_with_the_admission_and_given_back_once_with_the_end(store: Store) -> None:
    with store.writing():
        job, me = supervised(store, pool="gpu", slots=3)
        assert admissions_of(store) == []
        job = admit(store, job, me, later(5))
        assert admissions_of(store) == [(job.id, 1, me, "gpu", "", 3, later(5).wall)]
        job = commit(store, job, Event("started", "running", run=running(make_run(job)))).after
        stop = commit(store, job, Event("stop_requested", "stopping", "cancelled")).after
        assert len(admissions_of(store)) == 1
        finish(store, stop, me, "cancelled")
        assert admissions_of(store) == []


def test_the_slots_are_given_back_before_another_run_is_even_delayed(store: Store) -> None:
    with store.writing():
        job, me = supervised(store)
        job = admit(store, job, me)
        run = ended(running(make_run(job)), "failure")
        due = after(START, MINUTE)
        job = commit(store, job, Event("repeated", "queued", "failure", due=due, run=run)).after
        assert admissions_of(store) == []
        assert reread(store, job).status == "backoff"
        job = admit(store, job, me)
        assert admissions_of(store)[0][1] == 2
    assert [jobs.load_run(store, job.id, number) is not None for number in (1, 2, 3)] == [True, True, False]


def test_the_slots_of_a_paused_target_stay_charged(store: Store) -> None:
    with store.writing():
        job, me = supervised(store)
        job = admit(store, job, me)
        job = commit(store, job, Event("started", "running", run=running(make_run(job)))).after
        job = commit(store, job, Event("paused", "paused")).after
        assert len(admissions_of(store)) == 1
        commit(store, job, Event("resumed", "running"))
        assert len(admissions_of(store)) == 1


def test_a_second_admission_of_one_job_is_refused_by_the_schema(store: Store) -> None:
    with store.writing():
        job, me = supervised(store)
        job = admit(store, job, me)
        with pytest.raises(apsw.ConstraintError):
            store.execute("INSERT INTO admissions SELECT * FROM admissions")


def test_a_job_that_ends_frees_its_key_and_its_owner_is_its_no_more(store: Store) -> None:
    with store.writing():
        job, me = supervised(store, key="nightly")
        assert [owned.id for owned in jobs.owned_by(store, me)] == [job.id]
        finish(store, admit(store, job, me), me)
        assert jobs.owned_by(store, me) == []
        owners.retire(store, me)
    assert store.row("SELECT count(*) FROM keys") == (0,)


# Committing: who lost a race writes nothing.


@pytest.mark.parametrize("change", ["revision = revision + 1", "epoch = epoch + 1"])
def test_a_job_that_has_changed_since_it_was_read_is_left_alone(store: Store, change: str) -> None:
    with store.writing():
        first, me = supervised(store, "one")
        second, _ = supervised(store, "two")
        store.execute(f"UPDATE jobs SET {change} WHERE id = ?", (second.id,))
    now = {job.id: reread(store, job) for job in (first, second)}
    ledger = events(store)
    cancelled = Event("cancelled", "completed", "requested", "cancelled")
    batch = [apply(job, cancelled, START) for job in (first, second)]
    with pytest.raises(Stale):
        commit_batch(store, batch, me)
    assert {job.id: reread(store, job) for job in (first, second)} == now
    assert events(store) == ledger


def commit_batch(store: Store, batch: list[Transition], me: int | None = None) -> None:
    with store.writing():
        jobs.commit(store, batch, START, me)


def test_of_two_that_read_the_same_state_only_the_first_commits(store: Store, tmp_path: Path) -> None:
    other = new_store(tmp_path)
    with store.writing():
        job, me = supervised(store)
    seen = reread(other, job)
    with store.writing():
        admit(store, job, me)
    with pytest.raises(Stale):
        commit_batch(other, [apply(seen, Event("cancelled", "completed", "x", "cancelled"), START)])
    assert reread(store, job).phase == "starting"
    other.close()


@pytest.mark.parametrize("in_line", [0, 1, 2])
def test_a_promotion_after_the_job_was_read_does_not_stand_in_the_way(store: Store, in_line: int) -> None:
    with store.writing():
        job, _me = supervised(store, delay=MINUTE)
        store.execute("UPDATE jobs SET in_line = ? WHERE id = ?", (in_line, job.id))
        over = commit(store, job, Event("timed_out", "completed", "job_timeout", "timed_out")).after
    assert reread(store, job) == over


def test_bypasses_counted_after_the_job_was_read_are_forgotten_by_its_admission_only(store: Store) -> None:
    with store.writing():
        job, me = supervised(store)
        store.execute("UPDATE jobs SET bypass_count = 2 WHERE id = ?", (job.id,))
        paused = commit(store, job, Event("paused", "paused")).after
        assert reread(store, job).bypass_count == 2
        resumed = commit(store, paused, Event("resumed", "queued")).after
        assert reread(store, job).bypass_count == 2
        admit(store, resumed, me)
        assert reread(store, job).bypass_count == 0


# Committing: who is told.


def told_by(store: Store, ring: Ring, job: Job, event: Event, me: int | None = None) -> set[str]:
    ring.told.clear()
    with store.writing():
        commit(store, job, event, START, me)
    return set().union(*ring.told)


def test_the_owner_is_told_what_others_do_to_its_job_and_not_what_it_does_itself(
    store: Store, ring: Ring
) -> None:
    with store.writing():
        store.execute("INSERT INTO pools (name, slots, declared) VALUES ('', 1, 0)")
        job, me = supervised(store)
        other, _ = supervised(store, "other")
    assert told_by(store, ring, job, CANCEL, me) == {"other"}  # which may now go first
    assert told_by(store, ring, other, CANCEL) == {"other"}


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("", set()),
        ("INSERT INTO pools (name, slots, declared) VALUES ('', 1, 0)", {"other"}),
        ("INSERT INTO pools (name, slots, declared) VALUES ('disk', 1, 0)", {"other"}),
        ("INSERT INTO worker_queues (owner, queue, ceiling) SELECT max(id), 'q', 1 FROM owners", {"other"}),
    ],
    ids=["nothing", "the store", "a pool", "a queue"],
)
def test_who_leaves_the_line_concerns_others_only_where_something_is_limited(
    store: Store, ring: Ring, sql: str, told: set[str]
) -> None:
    with store.writing():
        job, me = supervised(store)
        supervised(store, "other")
        store.execute(sql or "SELECT 1")
    assert told_by(store, ring, job, CANCEL, me) == told


def test_who_comes_into_the_line_is_told_where_nothing_is_limited(store: Store, ring: Ring) -> None:
    with store.writing():
        job, _ = supervised(store)
        _, somebody = supervised(store, "other")
    told_by(store, ring, job, Event("paused", "paused"), somebody)
    with store.writing():
        store.execute("UPDATE jobs SET owner = NULL, queue = 'q' WHERE id = ?", (job.id,))
        owners.serve(store, somebody, {"q": None}, 1)
    assert told_by(store, ring, reread(store, job), Event("resumed", "queued")) == {"other"}


def test_an_owner_that_is_known_to_be_dead_is_not_told(store: Store, ring: Ring) -> None:
    with store.writing():
        job, me = supervised(store)
        owners.bury(store, me, START)
    assert told_by(store, ring, job, CANCEL) == set()


def test_the_owners_of_waiting_dependents_are_told_of_the_end_and_of_nothing_before(
    store: Store, ring: Ring
) -> None:
    with store.writing():
        parent, me = supervised(store, "parent")
        for token in ("one", "two", "cancelled"):
            owner = add_owner(store, token)
            child = add_job(store, make_submission(), owner, {parent.id: ("success",)})
        commit(store, child, CANCEL)
        gated = add_owner(store, "gated")
        unmet = (make_condition("file"),)
        add_job(store, make_submission(), gated, {parent.id: ("success",)}, unmet)
        unrelated = add_owner(store, "unrelated")
        add_job(store, make_submission(), unrelated, conditions=(make_condition("file"),))
    with store.writing():
        parent = admit(store, parent, me)
    run = running(make_run(parent))
    assert told_by(store, ring, parent, Event("started", "running", run=run), me) == set()
    parent = reread(store, parent)
    over = Event("ended", "completed", None, "success", run=ended(run, "success"))
    assert told_by(store, ring, parent, over, me) == {"one", "two", "gated"}


def test_those_who_may_now_be_admitted_are_told_when_slots_are_given_back(store: Store, ring: Ring) -> None:
    with store.writing():
        store.execute("INSERT INTO pools (name, slots, declared) VALUES ('', 2, 0)")
        holder, me = supervised(store, "holder", slots=2)
        holder = admit(store, holder, me)
        for token in ("first", "second", "third"):
            supervised(store, token, slots=2)
        supervised(store, "small", priority=-1)
    run = ended(running(make_run(holder)), "success")
    over = Event("ended", "completed", None, "success", run=run)
    # The first alone: behind it nobody fits, and it is asked again after the next commit.
    assert told_by(store, ring, holder, over, me) == {"first"}


def test_a_place_in_line_that_is_given_up_lets_those_behind_it_go(store: Store, ring: Ring) -> None:
    with store.writing():
        store.execute("INSERT INTO pools (name, slots, declared) VALUES ('', 4, 0)")
        holder, me = supervised(store, "holder", slots=2)
        admit(store, holder, me)
        large, _ = supervised(store, "large", slots=3)
        store.execute("UPDATE jobs SET bypass_count = 3 WHERE id = ?", (large.id,))
        supervised(store, "small")
    assert told_by(store, ring, reread(store, large), CANCEL) == {"large", "small"}


# Dependents that nobody owns.


def test_an_outcome_settles_the_queued_jobs_that_waited_for_it_and_so_on_down_the_graph(store: Store) -> None:
    with store.writing():
        parent, me = supervised(store)
        parent = admit(store, parent, me)
        asked = make_submission(queue="q")
        freed = add_job(store, asked, edges={parent.id: ("failure",)})
        doomed = add_job(store, asked, edges={parent.id: ("success",)})
        grandchild = add_job(store, asked, edges={doomed.id: ("success",), freed.id: ("success",)})
        finally_ = add_job(store, asked, edges={doomed.id: OUTCOMES, grandchild.id: ("aborted",)})
        finish(store, parent, me, "failure")
    assert reread(store, freed).status == "queued"
    for aborted in (doomed, grandchild):
        assert (reread(store, aborted).status, reread(store, aborted).reason) == (
            "aborted",
            "dependency_unsatisfied",
        )
    assert reread(store, finally_).status == "queued"
    assert tallies(store) == counted(store)


def test_a_queued_job_that_waits_for_two_that_end_together_is_settled_once(store: Store) -> None:
    asked = make_submission(queue="q")
    with store.writing():
        parents = [add_job(store, asked) for _ in range(2)]
        child = add_job(store, asked, edges={parent.id: ("success",) for parent in parents})
        jobs.commit(store, [apply(parent, CANCEL, START) for parent in parents], START)
    assert reread(store, child).status == "aborted"
    assert [event[1] for event in events(store) if event[0] == child.id] == ["submitted", "aborted"]


# Whatever happens, in any order.

CHOICES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 3)), max_size=40)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHOICES)
def test_whatever_happens_the_counters_the_admissions_and_the_rows_agree(
    choices: list[tuple[int, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = new_store(Path(directory))
        with store.writing():
            known = [
                add_job(store, make_submission(queue=queue, pool=pool))
                for queue, pool in (("a", ""), ("a", "p"), ("b", "p"))
            ]
            known += [supervised(store, token, pool=pool)[0] for token, pool in (("x", ""), ("y", "p"))]
            worker = add_owner(store, "worker", "worker")
        for step, (which, what, minutes) in enumerate(choices):
            job = reread(store, known[which % len(known)])
            event = _any_event(job, what, minutes, worker)
            with store.writing(durable=False):
                transition = commit(store, job, event, later(step * SECOND))
            assert reread(store, job) == transition.after
            _check(store)
        store.close()


def _any_event(job: Job, what: int, minutes: int, worker: int) -> Event:
    """One of the events that the table allows for a job."""
    ways = [
        (kind, target)
        for kind, (sources, targets) in TABLE.items()
        for target in targets
        if job.phase in sources and _suits(job, kind, target)
    ]
    kind, target = ways[what % len(ways)]
    run, owner = None, None
    if kind == "admitted":
        run = make_run(job, number=job.runs + 1, attempt=job.attempts + 1)
        owner = job.owner or worker
    elif kind == "started":
        run = running(make_run(job, number=job.runs, attempt=job.attempts))
    elif kind == "revived" and not job.queue:
        owner = worker
    due = after(START, minutes * MINUTE) if minutes else None
    return Event(kind, target, "cancelled", "failure" if target == "completed" else None, due, run, owner)


def _suits(job: Job, kind: str, target: str) -> bool:
    if job.phase != "paused":
        return True
    if kind == "resumed":
        return target == job.held_phase
    return (job.held_phase in ACTIVE) == (kind != "cancelled")


def _check(store: Store) -> None:
    assert tallies(store) == counted(store)
    everybody = [job for number in range(1, 6) if (job := jobs.load(store, number)) is not None]
    holding = {job.id for job in everybody if holds_slots(job)}
    assert {row[0] for row in admissions_of(store)} == holding
    for job in everybody:
        (latest,) = store.row("SELECT target FROM events WHERE job_id = ? ORDER BY id DESC", (job.id,))
        assert latest == job.phase
        assert store.row("SELECT count(*) FROM events WHERE job_id = ?", (job.id,)) == (job.revision,)


def test_a_fault_of_the_program_is_told_and_undone(store: Store) -> None:
    with store.writing():
        job = add_job(store)
    transition = apply(job, CANCEL, START)
    broken = transition._replace(after=transition.after._replace(outcome=None))
    with pytest.raises(InturnError, match="CHECK"):
        commit_batch(store, [broken])
    assert reread(store, job) == job

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from inturn.core.admission import STORE
from inturn.core.job import STATUSES, Job
from inturn.core.moment import SECOND, Now
from inturn.core.transitions import Event
from inturn.core.views import UMBRELLAS, Filters
from inturn.store import admissions, jobs, reads, settings
from inturn.store.db import Store
from inturn.store.settings import Pool
from tests.builders import (
    START,
    add_job,
    add_owner,
    admit,
    at,
    commit,
    ended,
    later,
    make_condition,
    make_run,
    make_spec,
    make_submission,
    new_store,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = new_store(tmp_path)
    yield opened
    opened.close()


def _add(store: Store, now: Now = START, **fields: Any) -> Job:
    """A queued job, or with `queue=""` a supervised one."""
    with store.writing():
        owner = None
        if fields.setdefault("queue", "default") == "":
            owner = add_owner(store, f"owner-{store.row('SELECT count(*) FROM jobs')[0]}")
        return add_job(store, make_submission(**fields), owner, now=now)


def _ids(store: Store, now: Now = START, limit: int | None = None, **filters: Any) -> list[int]:
    with store.reading():
        return [job.id for job in reads.newest(store, Filters(**filters), now, limit)]


def _run(store: Store, job: Job, outcome: str | None = None) -> Job:
    """Start a job, and end it if an outcome is given."""
    with store.writing():
        if job.owner is None:
            job = job._replace(owner=add_owner(store, f"worker-{job.id}", "worker"))
            store.execute("UPDATE jobs SET owner = ? WHERE id = ?", (job.owner, job.id))
        job = admit(store, job)
        if outcome is None:
            return job
        run = ended(make_run(job), outcome, START, exit_code=0 if outcome == "success" else 3)
        return commit(store, job, Event("ended", "completed", None, outcome, run=run)).after


def _one_of_each_status(store: Store) -> list[Job]:
    """A job in every status that the table of transitions leads to now, and a paused one."""
    with store.writing():
        waiting = add_job(store, make_submission(queue="q"), conditions=(make_condition(),))
    submitted = _add(store, queue="q")
    _add(store, queue="q", delay=60 * SECOND)
    for outcome in ("success", "failure", "timed_out", "cancelled", "lost"):
        _run(store, _add(store, queue="q"), outcome)
    with store.writing():
        aborted = add_job(store, make_submission(queue="q"), conditions=(make_condition(),))
        commit(store, aborted, Event("aborted", "completed", "wait_deadline", "aborted"))
        store.execute(
            "UPDATE jobs SET phase = 'paused', held_phase = 'waiting' WHERE id = ?",
            (add_job(store, make_submission(queue="q"), conditions=(make_condition(),)).id,),
        )
        again = admit(store, add_job(store, make_submission(queue="q")), add_owner(store, "w"))
        run = ended(make_run(again), "failure", START, exit_code=1)
        due = at(later(60 * SECOND))
        commit(store, again, Event("repeated", "queued", "failure", due=due, run=run))
        starting = admit(store, add_job(store, make_submission(queue="q")), add_owner(store, "x"))
        running = admit(store, add_job(store, make_submission(queue="q")), add_owner(store, "y"))
        commit(store, running, Event("started", "running", run=make_run(running)))
        stopping = admit(store, add_job(store, make_submission(queue="q")), add_owner(store, "z"))
        commit(store, stopping, Event("stop_requested", "stopping", "cancelled"))
    assert waiting.id < submitted.id < starting.id
    with store.reading():
        return list(reads.newest(store, Filters(), START, None))


def test_jobs_come_newest_first_and_no_more_than_wanted(store: Store) -> None:
    added = [_add(store).id for _ in range(5)]
    assert _ids(store) == added[::-1]
    assert _ids(store, limit=2) == added[:2:-1]


def _plan(store: Store, filters: Filters) -> str:
    """How SQLite goes about the listing."""
    statements: list[str] = []
    store.connection.trace_v2(1, lambda event: statements.append(event["sql"]))
    with store.reading():
        list(reads.newest(store, filters, START, 50))
    store.connection.trace_v2(0, None)
    (query,) = (sql for sql in statements if sql.lstrip().startswith("SELECT"))
    bindings = (None,) * query.count("?")
    return " | ".join(row[3] for row in store.execute("EXPLAIN QUERY PLAN " + query, bindings))


def test_the_plain_listing_walks_the_primary_key_backwards_and_sorts_nothing(store: Store) -> None:
    assert _plan(store, Filters()) == "SCAN jobs"


@pytest.mark.parametrize("word", ["active", "live", "queued", "scheduled", "running"])
def test_live_jobs_are_found_among_the_live_alone(store: Store, word: str) -> None:
    assert "jobs_live" in _plan(store, Filters(statuses=(word,)))


def test_jobs_of_a_name_are_found_by_their_name(store: Store) -> None:
    assert "jobs_name" in _plan(store, Filters(names=("x",), statuses=("queued",)))


def test_each_status_picks_just_the_jobs_that_have_it(store: Store) -> None:
    everyone = _one_of_each_status(store)
    assert {job.status for job in everyone} == set(STATUSES) - {"submitting", "submission_failed"}
    for word in STATUSES:
        assert _ids(store, statuses=(word,)) == [job.id for job in everyone if job.status == word], word


def test_an_umbrella_picks_what_its_statuses_would(store: Store) -> None:
    everyone = _one_of_each_status(store)
    assert _ids(store, statuses=("live",)) == [job.id for job in everyone if job.outcome is None]
    assert _ids(store, statuses=("ended",)) == [job.id for job in everyone if job.outcome is not None]
    # The paused job has no target.
    active = [job.id for job in everyone if job.status in UMBRELLAS["active"] and job.status != "paused"]
    assert _ids(store, statuses=("active",)) == active


def test_values_of_one_filter_add_up_and_filters_narrow_each_other(store: Store) -> None:
    one = _add(store, queue="a", name="x", tags=(("k", "1"),)).id
    two = _add(store, queue="b", name="x", tags=(("k", "2"),), pool="p").id
    three = _add(store, queue="c", name="y", tags=(("k", None), ("l", "1"))).id
    assert _ids(store, queues=("a", "c")) == [three, one]
    assert _ids(store, names=("x",), queues=("b", "c")) == [two]
    assert _ids(store, tags=(("k", None),)) == [three, two, one]
    assert _ids(store, tags=(("k", "1"), ("l", "1"))) == [three, one]
    assert _ids(store, pools=("p",), statuses=("queued",)) == [two]
    assert _ids(store, statuses=("queued", "ended"), names=("y",)) == [three]


def test_a_job_whose_time_has_come_is_not_scheduled_although_nobody_has_moved_it(store: Store) -> None:
    job = _add(store, delay=60 * SECOND, pool="p")
    before, after = later(59 * SECOND), later(61 * SECOND)
    assert _ids(store, before, statuses=("scheduled",)) == [job.id]
    assert _ids(store, after, statuses=("scheduled",)) == []
    assert _ids(store, after, statuses=("queued",)) == [job.id]
    with store.reading():
        assert reads.counts(store, before)["default", "p", "scheduled"] == 1
        counts = reads.counts(store, after)
        assert (counts["default", "p", "scheduled"], counts["default", "p", "queued"]) == (0, 1)


def test_a_changed_wall_clock_does_not_make_a_delay_over(store: Store) -> None:
    job = _add(store, delay=60 * SECOND)
    set_forward = START._replace(wall=START.wall + 3600 * SECOND)
    assert _ids(store, set_forward, statuses=("scheduled",)) == [job.id]


@pytest.mark.parametrize("boot", ["0-earlier", "zzz-earlier"])
def test_a_delay_of_an_earlier_boot_goes_by_the_wall_clock(store: Store, boot: str) -> None:
    job = _add(store, START._replace(boot=boot), delay=60 * SECOND)
    assert _ids(store, later(59 * SECOND), statuses=("scheduled",)) == [job.id]
    assert _ids(store, later(61 * SECOND), statuses=("queued",)) == [job.id]
    with store.reading():
        assert reads.counts(store, later(61 * SECOND))["default", "", "queued"] == 1


@hypothesis_settings(max_examples=25, deadline=None)
@given(
    delays=st.lists(st.integers(0, 20), max_size=12),
    boots=st.lists(st.sampled_from([START.boot, "0-earlier", "zzz"]), min_size=12, max_size=12),
    elapsed=st.integers(0, 20),
)
def test_the_counters_agree_with_a_look_at_every_job(
    tmp_path_factory: pytest.TempPathFactory, delays: list[int], boots: list[str], elapsed: int
) -> None:
    store = new_store(tmp_path_factory.mktemp("store"))
    for delay, boot in zip(delays, boots, strict=False):
        _add(store, START._replace(boot=boot), delay=delay * SECOND)
    now = later(elapsed * SECOND)
    with store.reading():
        counted = {status: jobs for (_, _, status), jobs in reads.counts(store, now).items() if jobs}
        seen = [job.status for job in reads.newest(store, Filters(), now, None)]
    store.close()
    assert counted == {status: seen.count(status) for status in set(seen)}


def test_looking_changes_nothing(store: Store) -> None:
    _one_of_each_status(store)
    _add(store, delay=SECOND)
    changes = store.connection.total_changes()
    now = later(3600 * SECOND)
    with store.reading():
        list(reads.views(store, reads.newest(store, Filters(), now, None), True))
        reads.scopes(store, reads.counts(store, now))
        list(reads.events(store, 0, None, None))
    assert store.connection.total_changes() == changes


def test_a_view_has_the_command_the_runs_the_owner_the_gates_and_the_tags(store: Store) -> None:
    parent = _add(store, name="parent")
    with store.writing():
        owner = add_owner(store, "mine")
        spec = make_spec(argv=(b"echo", b"\xff a"))
        submission = make_submission(spec, tags=(("k", "v"), ("a", None)))
        condition = make_condition()
        job = add_job(store, submission, owner, {parent.id: ("success",)}, (condition,))
    with store.reading():
        (view,) = reads.views(store, [job], True)
    assert view.argv == (b"echo", b"\xff a")
    assert view.keeper is not None
    assert (view.keeper.kind, view.keeper.pid, view.keeper.token) == ("supervisor", 1, "mine")
    assert [(edge.parent_id, edge.parent_name, edge.parent_phase) for edge in view.edges] == [
        (parent.id, "parent", "queued")
    ]
    assert [each.kind for each in view.conditions] == ["file"]
    assert view.tags == (("a", None), ("k", "v"))


def test_a_short_view_has_the_last_run_only(store: Store) -> None:
    job = _add(store, queue="")
    for _ in range(3):
        with store.writing():
            job = admit(store, job)
            run = ended(make_run(job, number=job.runs), "failure", START, exit_code=job.runs)
            job = commit(store, job, Event("repeated", "queued", "failure", run=run)).after
    with store.reading():
        (short,) = reads.views(store, [job], False)
        (whole,) = reads.views(store, [job], True)
    assert [run.number for run in short.runs] == [3]
    assert [run.number for run in whole.runs] == [1, 2, 3]
    assert short.last_run == whole.last_run


def test_views_keep_the_order_of_the_jobs_over_many_batches(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "BATCH", 3)
    added = [_add(store) for _ in range(10)]
    with store.reading():
        assert [view.job.id for view in reads.views(store, added[::-1], True)] == [
            job.id for job in added[::-1]
        ]


def test_the_ledger_is_read_in_order_from_an_event_on(store: Store) -> None:
    one, two = _add(store), _add(store)
    _run(store, one, "success")
    with store.reading():
        everything = list(reads.events(store, 0, None, None))
        assert [entry.id for entry in everything] == sorted(entry.id for entry in everything)
        assert [entry.kind for entry in reads.events(store, 0, one.id, None)] == [
            "submitted",
            "admitted",
            "ended",
        ]
        assert [entry.job_id for entry in reads.events(store, everything[0].id, None, 1)] == [two.id]
        assert list(reads.events(store, everything[-1].id, None, None)) == []


def test_capacities_say_who_holds_what(store: Store) -> None:
    with store.writing():
        settings.set_pool(store, Pool(STORE, 4, True))
        settings.set_pool(store, Pool("p", 3, False))
    job = _run(store, _add(store, pool="p", slots=2, name="wide"))
    other = _run(store, _add(store))
    _add(store, pool="p")
    with store.reading():
        found = {scope.name: scope for scope in reads.scopes(store, reads.counts(store, START))}
        assert reads.admission(store, other.id) is not None
    assert list(found) == [STORE, "p"]
    everything, pool = found[STORE], found["p"]
    assert (everything.slots, everything.declared, everything.used, everything.free) == (4, True, 3, 1)
    assert (pool.slots, pool.declared, pool.used, pool.free, pool.in_line) == (3, False, 2, 1, 1)
    assert [(holder.job_id, holder.name, holder.slots) for holder in pool.holders] == [(job.id, "wide", 2)]
    assert [holder.job_id for holder in everything.holders] == [job.id, other.id]


def test_a_store_without_limits_is_unlimited(store: Store) -> None:
    with store.reading():
        (everything,) = reads.scopes(store, {})
    assert (everything.name, everything.slots, everything.free, everything.used) == (STORE, None, None, 0)


def test_free_slots_are_never_negative_after_a_limit_was_lowered(store: Store) -> None:
    _run(store, _add(store, slots=3))
    with store.writing():
        settings.set_pool(store, Pool(STORE, 1, False))
    with store.reading():
        (everything,) = reads.scopes(store, {})
    assert (everything.used, everything.free) == (3, 0)


def test_who_stands_before_a_job_is_told_in_the_order_of_the_line(store: Store) -> None:
    old = _add(store, name="old", pool="p")
    mine = _add(store, later(SECOND), pool="p")
    _add(store, later(2 * SECOND), pool="p")
    urgent = _add(store, later(3 * SECOND), priority=5, name="urgent")
    with store.reading():
        request = admissions.request_of(mine)
        total, first = reads.ahead(store, request, True, 5, 9)
        assert (total, [(each.job_id, name) for each, name in first]) == (
            2,
            [(urgent.id, "urgent"), (old.id, "old")],
        )
        total, first = reads.ahead(store, request, False, 5, 9)
        assert [each.job_id for each, _ in first] == [old.id]
        total, first = reads.ahead(store, request, True, 1, 9)
        assert (total, len(first)) == (2, 1)
        assert reads.ahead(store, request, True, 5, 1)[0] == 2
        assert reads.ahead(store, request, True, 5, 0)[0] == 1


def test_a_key_is_told_while_its_job_lives(store: Store) -> None:
    job = _add(store, key="nightly")
    assert reads.key(store, job.id) == "nightly"
    _run(store, job, "success")
    assert reads.key(store, job.id) is None


def test_a_job_that_was_read_is_the_job_that_was_stored(store: Store) -> None:
    job = _add(store, name="x", priority=-5)
    with store.reading():
        (found,) = reads.newest(store, Filters(), START, None)
    assert found == job == jobs.load(store, job.id)

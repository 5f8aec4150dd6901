from __future__ import annotations

from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.job import OUTCOMES, PHASES, RUN_OUTCOMES, STOP_REASONS, Job
from inturn.core.moment import Deadline, Stopwatch
from inturn.store import jobs
from inturn.store.db import Store
from inturn.store.rows import JOB_COLUMNS, job_values, marks
from tests.builders import BOOT, add_job, counted, make_job, make_run, reread, tallies
from tests.store.strategies import IDS, INSTANTS, INTEGERS, WATCHES, WORDS, one_store

DEADLINES = st.builds(Deadline, INSTANTS) | st.builds(Deadline, INSTANTS, st.just(BOOT), INSTANTS)


def put(store: Store, job: Job) -> None:
    """Store a job exactly as it is, in whatever state."""
    columns = ", ".join(JOB_COLUMNS)
    store.execute(f"INSERT INTO jobs ({columns}) VALUES ({marks(JOB_COLUMNS)})", job_values(job))


@st.composite
def any_job(draw: st.DrawFn) -> Job:
    """A job with anything in its fields that the schema allows."""
    phase = draw(st.sampled_from(PHASES))
    over = phase == "completed"
    stoppable = phase in ("stopping", "paused")
    fields: dict[str, Any] = {
        "id": draw(IDS),
        "revision": draw(IDS),
        "held_phase": draw(st.sampled_from(["waiting", "queued", "running"])) if phase == "paused" else None,
        "outcome": draw(st.sampled_from(OUTCOMES)) if over else None,
        "reason": draw(st.none() | WORDS),
        "stop_reason": draw(st.sampled_from(STOP_REASONS)) if stoppable else None,
        "queue": draw(WORDS),
        "pool": draw(WORDS),
        "slots": draw(IDS),
        "priority": draw(st.integers(-(2**31), 2**31 - 1)),
        "due": draw(DEADLINES),
        "in_line": draw(st.sampled_from([0, 1, 2])) if phase == "queued" else 0,
        "bypass_count": draw(st.integers(0, 3)),
        "owner": None,
        "watch": draw(WATCHES),
        "name": draw(st.none() | WORDS),
        "array_id": draw(st.none() | IDS),
        "array_index": draw(st.none() | IDS),
        "throttle": draw(INTEGERS),
        "conditional": draw(st.sampled_from([0, 1])),
        "submitted_at": draw(INSTANTS),
        "started_at": draw(st.none() | INSTANTS),
        "completed_at": draw(INSTANTS) if over else None,
    }
    numbers = ("round", "attempts", "successes", "failures", "runs", "crashes", "epoch")
    fields |= {name: draw(st.integers(0, 2**40)) for name in numbers}
    return Job(phase=phase, **fields)


@one_store
@given(job=any_job())
def test_a_job_comes_back_as_it_was_and_the_store_gives_it_the_status_that_the_core_gives_it(
    store: Store, job: Job
) -> None:
    with store.writing(durable=False):
        put(store, job)
    try:
        assert reread(store, job) == job
        assert store.row("SELECT status FROM jobs WHERE id = ?", (job.id,)) == (job.status,)
        assert tallies(store) == counted(store)
    finally:
        store.execute("DELETE FROM jobs")
    assert tallies(store) == {}


@one_store
@given(
    outcome=st.none() | st.sampled_from(RUN_OUTCOMES),
    words=st.lists(WORDS, min_size=5, max_size=5),
    numbers=st.lists(INTEGERS, min_size=8, max_size=8),
    maybe=st.lists(st.none() | INTEGERS, min_size=6, max_size=6),
    executable=st.binary(max_size=8),
    watch=WATCHES,
    told=st.lists(st.none() | WORDS, min_size=2, max_size=2),
)
def test_a_run_comes_back_as_it_was(
    store: Store,
    outcome: str | None,
    words: list[str],
    numbers: list[int],
    maybe: list[int | None],
    executable: bytes,
    watch: Stopwatch,
    told: list[str | None],
) -> None:
    with store.writing(durable=False):
        job = add_job(store)
        reserved = make_run(
            job,
            number=numbers[0],
            attempt=numbers[1],
            round=numbers[2],
            admitted_at=numbers[3],
            token=words[0],
            log=words[1],
            native_id=words[2],
            devices=words[3],
        )
        jobs.write_run(store, reserved, new=True)
        assert jobs.load_run(store, job.id, reserved.number) == reserved
        known = reserved._replace(
            outcome=outcome,
            exit_code=maybe[0],
            signal=maybe[1],
            failure=told[0],
            diagnostic=told[1],
            started_at=maybe[2],
            finished_at=None if outcome is None else numbers[4],
            native_id=words[4],
            executable=executable,
            watch=watch,
            user_us=maybe[3],
            system_us=maybe[4],
            max_rss=maybe[5],
            log_incomplete=numbers[5] % 2,
        )
        jobs.write_run(store, known)
    assert jobs.load_run(store, job.id, reserved.number) == known


def test_the_schema_refuses_a_job_in_an_impossible_state(store: Store) -> None:
    impossible = [
        make_job("completed", outcome=None),
        make_job("queued", outcome="success"),
        make_job("running", in_line=1),
        make_job("running", held_phase="queued"),
        make_job("running", stop_reason="cancelled"),
        make_job("queued", bypass_count=4),
        make_job("queued", slots=0),
        make_job("queued", priority=2**31),
        make_job("sleeping"),
    ]
    for job in impossible:
        with pytest.raises(apsw.ConstraintError):
            put(store, job._replace(owner=None))

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.core.moment import MINUTE, SECOND
from inturn.core.transitions import Event
from inturn.store import estimates, jobs
from inturn.store.db import Store
from tests.builders import (
    add_job,
    add_owner,
    admit,
    commit,
    ended,
    later,
    make_run,
    make_submission,
    new_store,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = new_store(tmp_path)
    yield opened
    opened.close()


def _add(store: Store, name: str = "train") -> int:
    with store.writing():
        owner = add_owner(store, f"owner-{store.row('SELECT count(*) FROM jobs')[0]}")
        return add_job(store, make_submission(name=name, queue=""), owner).id


def _end(store: Store, job_id: int, took: int, outcome: str = "success") -> int:
    with store.writing():
        job = jobs.load(store, job_id)
        assert job is not None
        job = admit(store, job)
        run = ended(make_run(job), outcome, later(took), exit_code=0)
        run = run._replace(started_at=later(0).wall, finished_at=later(took).wall)
        commit(store, job, Event("ended", "completed", None, outcome, run=run))
    return job_id


def test_only_successful_jobs_of_the_name_tell_what_is_usual(store: Store) -> None:
    _end(store, _add(store), MINUTE)
    _end(store, _add(store), SECOND, "failure")
    _end(store, _add(store, "other"), 5 * MINUTE)
    waits = _add(store)
    _end(store, _add(store), 2 * MINUTE)
    assert sorted(estimates.durations(store, "train", waits)) == [MINUTE, 2 * MINUTE]
    assert estimates.durations(store, "unknown", waits) == []


def test_of_very_many_the_nearest_tell(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "NEAREST", 2)
    for took in (1, 2, 3):
        _end(store, _add(store), took * MINUTE)
    waits = _add(store)
    for took in (7, 8, 9):
        _end(store, _add(store), took * MINUTE)
    assert [took // MINUTE for took in estimates.durations(store, "train", waits)] == [3, 2, 7, 8]


@pytest.mark.parametrize("statement", [estimates.BEFORE, estimates.AFTER])
def test_each_look_is_a_range_of_the_index_of_names_and_sorts_nothing(store: Store, statement: str) -> None:
    rows = store.execute("EXPLAIN QUERY PLAN " + statement, ("train", 7, 100))
    plan = " | ".join(str(row[3]) for row in rows)
    assert "jobs_name (name=? AND" in plan
    assert "TEMP B-TREE" not in plan
    assert "SCAN jobs" not in plan
    assert "SEARCH runs USING PRIMARY KEY" in plan or "SEARCH runs USING INDEX" in plan


def test_a_run_tells_when_it_was_started(store: Store) -> None:
    job = _end(store, _add(store), MINUTE)
    assert estimates.started(store, job, 1) == later(0).wall
    assert estimates.started(store, job, 2) is None

"""The deadlines of queued jobs are kept as long as these may be nobody's, and not a moment longer."""

from __future__ import annotations

import pytest

from inturn.core.job import Job
from inturn.core.moment import SECOND
from inturn.core.spec import WantedCondition
from inturn.core.transitions import Event
from inturn.store import gates, newcomers, settle
from inturn.store.db import Store
from tests.builders import (
    CANCEL,
    START,
    add_job,
    add_owner,
    commit,
    later,
    make_condition,
    make_spec,
    make_submission,
    reread,
)


def watched(store: Store) -> tuple[Job, int]:
    """A job with a timeout whose conditions a worker looks at; and the worker."""
    asked = make_submission(
        make_spec(job_timeout=5 * SECOND), queue="default", conditions=(WantedCondition("file", b"/there"),)
    )
    job = add_job(store, asked, conditions=(make_condition(),))
    newcomers.note_deadlines(store, job.id, job.id, START)
    worker = add_owner(store, "worker", "worker")
    assert gates.adopt(store, worker, ["default"], 9) == [job.id]
    return reread(store, job), worker


def deadlines(store: Store) -> int:
    return int(store.row("SELECT count(*) FROM deadlines")[0])


@pytest.mark.parametrize("end", [CANCEL, Event("timed_out", "completed", "job_timeout", "timed_out")])
def test_a_job_that_ends_in_the_hands_of_a_worker_leaves_none(store: Store, end: Event) -> None:
    with store.writing():
        job, worker = watched(store)
        assert deadlines(store) == 1
        commit(store, job, end, me=worker)
        assert deadlines(store) == 0


def test_a_job_that_was_paused_in_the_hands_of_a_worker_still_ends_in_time_without_it(store: Store) -> None:
    with store.writing():
        job, worker = watched(store)
        job = commit(store, job, Event("paused", "paused")).after
        assert deadlines(store) == 0
        commit(store, job, Event("resumed", "waiting"))
        gates.disown(store, worker)
        assert settle.late(store, later(4 * SECOND)) == []
        assert [one.event.kind for one in settle.late(store, later(5 * SECOND))] == ["timed_out"]

"""Giving a job up that no supervisor has answered for, in a store that fails meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from inturn.core.transitions import Event
from inturn.errors import InturnError
from inturn.service.context import Context
from inturn.service.submit import give_up
from inturn.store import jobs, owners, specs
from inturn.store.db import Store
from tests.builders import START, add_owner, commit, insert_job, make_submission, new_store
from tests.tapped import tapped, unheard


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = new_store(tmp_path)
    yield opened
    opened.close()


def context_of(store: Store) -> Context:
    return Context(store.directory, store, lambda: START, "", "", (), lambda _: None)


def submitting(store: Store) -> int:
    """A job that nobody has taken over yet."""
    with store.writing():
        me = add_owner(store, "silent")
        submission = make_submission()
        environment = specs.environment_id(store, submission.spec.environment)
        return insert_job(store, submission, False, me, environment, START).id


@contextmanager
def failing_commit(store: Store, done: bool) -> Iterator[None]:
    """The next commit is reported as failed, whether it is `done` or not."""
    left = [True]

    def ask(sql: str) -> None:
        if sql == "COMMIT" and left:
            left.clear()
            if done:
                unheard(below)
            raise apsw.IOError("disk I/O error")

    with tapped(store, ask) as below:
        yield


def test_a_job_that_nobody_answers_for_ends_and_its_owner_is_known_to_be_dead(store: Store) -> None:
    job_id = submitting(store)
    assert give_up(context_of(store), job_id)
    job = jobs.load(store, job_id)
    assert job is not None
    assert (job.phase, job.outcome) == ("completed", "submission_failed")
    assert owners.live(store) == []


def test_a_job_that_was_accepted_at_last_goes_on(store: Store) -> None:
    job_id = submitting(store)
    job = jobs.load(store, job_id)
    assert job is not None
    with store.writing():
        commit(store, job, Event("accepted", "queued"), me=job.owner)
    assert not give_up(context_of(store), job_id)


def test_a_commit_that_seems_to_fail_is_looked_for(store: Store) -> None:
    job_id = submitting(store)
    with failing_commit(store, done=True):
        assert give_up(context_of(store), job_id)


def test_whoever_cannot_give_up_a_job_says_that_it_may_still_be_started(store: Store) -> None:
    job_id = submitting(store)
    with failing_commit(store, done=False), pytest.raises(InturnError, match="disk I/O error") as raised:
        give_up(context_of(store), job_id)
    assert raised.value.hint == f"Job {job_id} may still be started: see inturn show {job_id}"

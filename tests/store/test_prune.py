"""What is known of the directories of logs: which of them no run can begin in any more."""

from __future__ import annotations

import pytest

from inturn.core.transitions import Event
from inturn.store import prune
from inturn.store.db import Store
from tests.builders import add_job, commit, make_submission


def give(store: Store, job_id: int) -> int:
    """A job with this id, as if all those before it had been given."""
    store.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'jobs'", (job_id - 1,))
    job = add_job(store, make_submission(queue="q"))
    assert job.id == job_id
    return job_id


def vacated(store: Store, *there: int) -> list[int]:
    with store.reading():
        return prune.vacated(store, there)


def test_in_a_new_store_no_directory_is_vacated(store: Store) -> None:
    assert vacated(store) == vacated(store, 0, 1) == []


@pytest.mark.parametrize("survivor", [3000, 3001, 3999])
def test_a_directory_with_a_job_anywhere_in_its_thousand_is_not_vacated(store: Store, survivor: int) -> None:
    with store.writing():
        add_job(store, make_submission(queue="q"))
        give(store, survivor)
        give(store, 5000)
    assert vacated(store, 0, 1, 2, 3, 4, 5) == [1, 2, 4]


def test_it_is_when_its_last_job_was_removed(store: Store) -> None:
    with store.writing():
        first = add_job(store, make_submission(queue="q"))
        give(store, 1000)
        assert vacated_within(store) == []
        commit(store, first, Event("cancelled", "completed", None, "cancelled"))
        assert prune.remove(store, [first.id]).ids == (first.id,)
        assert vacated_within(store) == [0]


def vacated_within(store: Store) -> list[int]:
    """In the present write transaction."""
    return prune.vacated(store, [0, 1])


def test_that_of_the_last_id_is_not_although_there_is_no_job_in_it(store: Store) -> None:
    with store.writing():
        add_job(store, make_submission(queue="q"))
        store.execute("UPDATE sqlite_sequence SET seq = 1999 WHERE name = 'jobs'")
    assert vacated(store, 1, 2) == []
    with store.writing():
        store.execute("UPDATE sqlite_sequence SET seq = 2000 WHERE name = 'jobs'")
    assert vacated(store, 1, 2) == [1]


def test_numbers_that_no_id_reaches_are_nothing_to_worry_about(store: Store) -> None:
    with store.writing():
        add_job(store, make_submission(queue="q"))
    assert vacated(store, 10**30, 10**40) == []

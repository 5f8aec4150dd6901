"""The jobs of an array that lets only so many run at once stand in one line, in whatever pools they are."""

from __future__ import annotations

from inturn.store import admissions
from inturn.store.db import Store
from tests.builders import START, add_job, add_owner, make_submission, reread


def test_one_that_was_moved_to_another_pool_still_waits_for_those_before_it(store: Store) -> None:
    asked = make_submission(array_size=2, at_once=1)
    with store.writing():
        store.execute("INSERT INTO pools (name, slots, declared) VALUES ('disk', 4, 0)")
        first, second = (
            add_job(store, asked._replace(array_index=index, pool="disk"), add_owner(store, str(index)))
            for index in range(2)
        )
        for job in (first, second):
            store.execute(
                "UPDATE jobs SET array_id = ?, throttle = ? WHERE id = ?", (first.id, first.id, job.id)
            )
        store.execute("UPDATE jobs SET pool = '' WHERE id = ?", (second.id,))
        decision = admissions.settle(store, reread(store, second), START)
    assert decision.reason == "yields"
    assert decision.other is not None
    assert decision.other.job_id == first.id

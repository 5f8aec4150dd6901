from __future__ import annotations

import apsw
import pytest

from inturn.core.job import OUTCOMES
from inturn.core.moment import HOUR, after
from inturn.core.transitions import Event
from inturn.store import gates
from inturn.store.db import Store
from tests.builders import (
    CANCEL,
    START,
    add_job,
    add_owner,
    admit,
    commit,
    finish,
    later,
    make_condition,
    make_submission,
    reread,
    supervised,
)
from tests.tapped import tapped


def test_a_receipt_is_what_was_true_of_the_parent_and_is_written_once(store: Store) -> None:
    with store.writing():
        parent, me = supervised(store, "parent", name="prepare")
        child = add_job(store, make_submission(), add_owner(store, "child"), {parent.id: ("success",)})
        (edge,) = gates.edges(store, child.id)
        assert (edge.judged, edge.parent_name, edge.parent_phase) == (False, "prepare", "queued")
        gates.write_receipts(store, child.id, START)
        assert gates.edges(store, child.id) == [edge]  # The parent is not completed.
        over = finish(store, admit(store, parent, me), me)
        # Whoever ends the parent writes the receipts of those who wait for it.
        (judged,) = gates.edges(store, child.id)
        assert judged[3:7] == ("success", over.revision, over.completed_at, START.wall)
        gates.write_receipts(store, child.id, later(99))
        commit(store, over, Event("revived", "queued", owner=me))
        gates.write_receipts(store, child.id, later(99))
    (now,) = gates.edges(store, child.id)
    assert now[3:7] == judged[3:7]
    assert (now.parent_phase, now.satisfied) == ("queued", True)
    assert gates.dependents(store, parent.id) == [now]


def test_a_receipt_cannot_be_rewritten_only_taken_back(store: Store) -> None:
    with store.writing():
        parent = add_job(store)
        child = add_job(store, edges={parent.id: OUTCOMES}, conditions=(make_condition(),))
        commit(store, parent, CANCEL)
        gates.write_receipts(store, child.id, START)
        with pytest.raises(apsw.ConstraintError, match="written once"):
            store.execute("UPDATE edges SET observed_outcome = 'success'")
        store.execute(
            "UPDATE edges SET observed_outcome = NULL, observed_revision = NULL, observed_at = NULL"
        )


def test_what_was_seen_of_a_condition_is_kept(store: Store) -> None:
    asked = (
        make_condition("file"),
        make_condition("delay", position=1, due=after(START, HOUR), argument=b""),
    )
    with store.writing():
        job = add_job(store, conditions=asked)
        assert gates.conditions(store, job.id) == [one._replace(job_id=job.id) for one in asked]
        seen = asked[0]._replace(job_id=job.id, satisfied_at=5, observed_at=6, diagnostic="there")
        gates.write_observation(store, seen)
    assert gates.conditions(store, job.id) == [seen, asked[1]._replace(job_id=job.id)]


def test_a_job_that_is_depended_on_cannot_vanish(store: Store) -> None:
    with store.writing():
        parent = add_job(store)
        add_job(store, edges={parent.id: OUTCOMES})
        with pytest.raises(apsw.ConstraintError, match="FOREIGN KEY"):
            store.execute("DELETE FROM jobs WHERE id = ?", (parent.id,))


def test_the_end_of_one_of_many_parents_costs_no_more_than_that_of_one_of_few(store: Store) -> None:
    def statements(number: int) -> int:
        ran: list[str] = []
        with store.writing():
            parents = [add_job(store) for _ in range(number)]
            child = add_job(store, edges=dict.fromkeys((one.id for one in parents), OUTCOMES))
            with tapped(store, ran.append):
                commit(store, parents[0], CANCEL)
            assert reread(store, child).phase == "waiting"
            assert not any(sql.endswith("WHERE edges.job_id = ? ORDER BY parent_id") for sql in ran)
            for parent in parents[1:]:
                commit(store, parent, CANCEL)
            assert reread(store, child).phase == "queued"
        return len(ran)

    statements(3)  # The first time there is more to be found out about the store.
    assert statements(200) == statements(3)

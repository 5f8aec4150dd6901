"""Copying what is laid out: nothing that the schema forbids gets in, and nothing is left behind."""

from __future__ import annotations

import re

import pytest

from inturn.core.spec import Submission
from inturn.errors import InturnError
from inturn.store import bulk, newcomers, specs
from inturn.store.db import Store
from inturn.store.newcomers import Draft
from tests.builders import START, make_spec, make_submission

PLAIN = make_submission(queue="q")
WORSE = make_submission(queue="q", slots=0)


def drafts(*submissions: Submission) -> list[Draft]:
    return newcomers.draft_all(submissions, owned=False, now=START)


def store_all(store: Store, laid_out: list[Draft]) -> None:
    with bulk.laid_out(store, laid_out), store.writing():
        environment = specs.environment_id(store, PLAIN.spec.environment)
        bulk.insert_all(store, [environment] * len({id(shape) for _, shape in laid_out}), START)


def count(store: Store, table: str) -> int:
    return int(store.row(f"SELECT count(*) FROM {table}")[0])


def assert_checks_hold(store: Store) -> None:
    """CHECKs and triggers are in force for whatever comes next."""
    with pytest.raises(InturnError, match="CHECK"), store.writing():
        newcomers.insert_all(store, drafts(WORSE), [None], [1], START)
    counted = store.execute("SELECT jobs FROM tallies").fetchall()
    with store.writing():
        environment = specs.environment_id(store, PLAIN.spec.environment)
        newcomers.insert_all(store, drafts(PLAIN), [None], [environment], START)
    assert store.execute("SELECT jobs FROM tallies").fetchall() == [
        (sum(int(str(n)) for (n,) in counted) + 1,)
    ]


def test_afterwards_the_schema_is_in_force_again(store: Store) -> None:
    store_all(store, drafts(*[PLAIN] * 3))
    assert_checks_hold(store)


@pytest.mark.parametrize("worse", [WORSE, make_submission(make_spec(wait_mode="some"), queue="q")])
def test_what_the_schema_forbids_is_refused_whole_wherever_it_stands(store: Store, worse: Submission) -> None:
    with pytest.raises(InturnError, match="CHECK"):
        store_all(store, drafts(*[PLAIN] * 3, worse, worse, PLAIN))
    assert [count(store, table) for table in ("jobs", "specs", "events", "tallies")] == [0, 0, 0, 0]
    assert_checks_hold(store)


def test_an_environment_that_is_not_there_is_refused(store: Store) -> None:
    with (
        bulk.laid_out(store, drafts(PLAIN, PLAIN)),
        pytest.raises(InturnError, match="FOREIGN KEY"),
        store.writing(),
    ):
        bulk.insert_all(store, [7], START)
    assert_checks_hold(store)


def test_no_check_is_about_what_jobs_of_one_shape_may_differ_in(store: Store) -> None:
    for table, own in (("jobs", newcomers.OWN_COLUMNS), ("specs", specs.OWN_COLUMNS)):
        (schema,) = store.row("SELECT sql FROM main.sqlite_schema WHERE name = ?", (table,))
        checks = re.findall(r"CHECK (.*)", re.sub(r"--.*", "", schema))
        assert checks
        assert not {word for check in checks for word in re.findall(r"\w+", check)} & set(own)


def test_the_one_trigger_that_is_passed_over_is_the_one_whose_work_is_done(store: Store) -> None:
    triggers = store.execute("SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger'").fetchall()
    on_insert = [name for name, sql in triggers if re.search(r"\bINSERT ON (jobs|specs)\b", str(sql))]
    assert on_insert == ["jobs_tally_insert"]


def test_the_copying_sorts_nothing(store: Store) -> None:
    """What is laid out is read in the order in which it is stored: no second copy is made of it."""
    with bulk.laid_out(store, drafts(PLAIN, PLAIN)):
        plans = [
            step
            for statement in (*bulk.CHECKED, *bulk.LIKE_THEM, *bulk.BESIDES)
            for *_, step in store.execute("EXPLAIN QUERY PLAN " + re.sub(r"\?\d", "1", statement))
        ]
    assert "SCAN temp.fresh" in plans
    assert not [step for step in plans if "B-TREE" in step]

"""What a worker reads of the store to claim a job and to end it does not grow with the number of other jobs.

Counted by SQLite itself, statement by statement: the steps of its virtual machine, and the rows that it went
through one after the other. No stopwatch is involved.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import apsw.ext
import pytest

from inturn.core.admission import STORE
from inturn.core.layout import DATABASE
from inturn.core.moment import HOUR
from inturn.engines.base import Launch
from inturn.engines.local import LocalEngine
from inturn.engines.process import LocalRun
from inturn.host import paths, store_dir, wake
from inturn.owners.tools import Tools
from inturn.owners.worker import Orders, Worker
from inturn.store import overdue, owners, settings
from inturn.store.db import Store
from inturn.store.settings import Pool
from tests.builders import START, add_job, add_owner, admit, finish, make_spec, make_submission, new_store
from tests.e2e.harness import until

# Jobs that the worker has nothing to do with.
FINISHED, DELAYED, WAITING = 3000, 1000, 500

# Jobs in its line: it takes the first two.
FEW, MANY = 6, 1000

# Tables with a row, or several, for each job. In the others are those who live, what is active, what is
# configured; and of `unsettled` and `deadlines` a scan ends at the first row, which the counters show.
LARGE = {"jobs", "runs", "events", "specs", "edges", "conditions", "tags", "environments", "arrays"}

# Of the small tables one statement goes through so many rows, at most.
SMALL_ROWS = 10

# What the jobs in line run.
COMMAND = (b"sh", b"-c", b'read go < "$INTURN_DIR/go"')

# The trees of the tables grow by a level, not by a step; this is for what is written at another place.
SLACK = 1.05


class Statement(NamedTuple):
    """One that was run: what it is, and SQLite's counters of it, with those of its triggers."""

    sql: str
    steps: int
    scanned: int
    indexes_made: int


class Counted:
    """Collects the statements of a connection, transaction by transaction; only those that write are kept."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.transactions: list[list[Statement]] = []
        self._connection = connection
        self._open = False

    def __enter__(self) -> Counted:
        self._connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.trace_v2(0, None)

    def _note(self, event: dict[str, Any]) -> None:
        sql, counters = event["sql"], event["stmt_status"]
        if sql == "BEGIN IMMEDIATE":
            self.transactions.append([])
            self._open = True
        elif sql == "COMMIT":
            self._open = False
        elif self._open:
            names = ("VM_STEP", "FULLSCAN_STEP", "AUTOINDEX")
            self.transactions[-1].append(
                Statement(sql, *(counters["SQLITE_STMTSTATUS_" + name] for name in names))
            )


class Leash(LocalEngine):
    """Its commands end when they are told to: at their start, or when `release` is called."""

    def __init__(self, directory: Path, at_once: bool) -> None:
        super().__init__()
        self._go = directory / "go"
        os.mkfifo(self._go)
        self._at_once = at_once
        self._held: list[LocalRun] = []

    def start(self, launch: Launch) -> LocalRun:
        started = super().start(launch)
        self._held.append(started)
        if self._at_once:
            self.release()
        return started

    def release(self) -> None:
        """Have those end that have not, and wait until they have."""
        for held in self._held:
            self._go.write_text("go\n")
            wake.wait([held.fileno()], None)
        self._held.clear()


class Shop:
    """A store, and a worker with one place for whom time stands still.

    `at_once`: whether a run has ended when the worker looks at it for the first time, or for the second.
    """

    def __init__(self, directory: Path, at_once: bool) -> None:
        self.store = new_store(directory)
        with self.store.writing():
            me = add_owner(self.store, "worker", "worker")
        self._engine = Leash(directory, at_once)
        self._fifo = wake.create(paths.owner_files(str(directory), "worker")[1])
        tools = Tools(
            self.store,
            self._engine,
            lambda: START,
            lambda: 0.5,
            str(directory),
            me,
            lambda: None,
            alone=False,
        )
        self._worker = Worker(tools, self._fifo, Orders({"default": None}))
        self._worker.begin()

    def work(self) -> list[list[Statement]]:
        """Run two jobs of the line, and claim a third; the transactions that this took."""
        before = self._ended()

        def two_have_ended() -> bool:
            self._worker.turn()
            self._engine.release()
            return self._ended() >= before + 2

        with Counted(self.store.connection) as counted:
            until(two_have_ended, "the end of two jobs")
        return counted.transactions

    def _ended(self) -> int:
        return int(self.store.row("SELECT count(*) FROM events WHERE kind = 'ended'")[0])

    def close(self) -> None:
        self.store.close()
        os.close(self._fifo)


def populate(store: Store, crowded: bool) -> None:
    """A line, another worker that lives, and perhaps a crowd that is not in line."""
    other = add_owner(store, "another", "worker")
    owners.serve(store, other, {"default": None}, 1)
    for _ in range(FINISHED if crowded else 1):
        finish(store, admit(store, add_job(store), other), other)
    for _ in range(DELAYED if crowded else 1):
        spec = make_spec(job_timeout=2 * HOUR)
        delayed = add_job(store, make_submission(spec, queue="default", priority=9, delay=HOUR))
        overdue.note_deadlines(store, delayed, START)
    for _ in range(WAITING if crowded else 1):
        add_job(store, edges={delayed.id: ("success",)})
    for _ in range(MANY if crowded else FEW):
        add_job(store, make_submission(make_spec(argv=COMMAND), queue="default"))


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Two stores to be copied: with nothing but a short line, and with a crowd besides."""
    made = {}
    for crowded in (False, True):
        directory = tmp_path_factory.mktemp("crowded" if crowded else "quiet")
        store = new_store(directory)
        with store.writing():
            populate(store, crowded)
        store.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        store.close()
        made[crowded] = directory / DATABASE
    return made


LIMITS: dict[str, tuple[Pool, ...]] = {
    "no limits": (),
    "limits": (Pool(STORE, 3, False), Pool("gpu", 2, False)),
}


@pytest.fixture(params=list(LIMITS.values()), ids=list(LIMITS))
def limits(request: pytest.FixtureRequest) -> tuple[Pool, ...]:
    chosen: tuple[Pool, ...] = request.param
    return chosen


@pytest.fixture(params=[True, False], ids=["ended at the first look", "ended at the second look"])
def shops(
    templates: dict[bool, Path], limits: tuple[Pool, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[dict[bool, Shop]]:
    made = {}
    for crowded, template in templates.items():
        directory = tmp_path / template.parent.name
        store_dir.create_store_dirs(str(directory))
        shutil.copyfile(template, directory / DATABASE)
        made[crowded] = Shop(directory, request.param)
        with made[crowded].store.writing():
            for pool in limits:
                settings.set_pool(made[crowded].store, pool)
    yield made
    for shop in made.values():
        shop.close()


def steps(transaction: list[Statement]) -> int:
    return sum(statement.steps for statement in transaction)


def test_a_claim_and_the_end_of_a_run_take_as_many_steps_in_a_crowd_as_without(
    shops: dict[bool, Shop],
) -> None:
    quiet, crowded = shops[False].work(), shops[True].work()
    assert [[each.sql for each in one] for one in crowded] == [[each.sql for each in one] for one in quiet]
    for word in ("INSERT INTO admissions", "DELETE FROM admissions"):
        assert sum(word in statement.sql for one in quiet for statement in one) >= 2
    for among_many, alone in zip(crowded, quiet, strict=True):
        assert steps(among_many) <= steps(alone) * SLACK


def test_no_row_of_a_job_is_gone_through_to_find_another(shops: dict[bool, Shop]) -> None:
    for transactions in (shop.work() for shop in shops.values()):
        for statement in (statement for one in transactions for statement in one):
            assert statement.scanned <= SMALL_ROWS, statement
            assert not statement.indexes_made, statement


def test_only_small_tables_are_scanned_by_plan(shops: dict[bool, Shop]) -> None:
    shop = shops[True]
    found = {statement.sql for one in shop.work() for statement in one}
    assert len(found) > 15
    plans = {sql: list(plan(shop.store.connection, sql)) for sql in found}
    scanned = [
        (table[1], sql)
        for sql, steps in plans.items()
        for step in steps
        if (table := re.match(r"SCAN (\w+)", step)) and table[1] in LARGE
    ]
    assert not scanned
    assert any(
        step.startswith("SEARCH jobs USING INDEX jobs_line") for steps in plans.values() for step in steps
    )


def plan(connection: apsw.Connection, sql: str) -> Iterator[str]:
    """What SQLite does for a statement, step by step; nothing of what triggers do."""
    todo = [apsw.ext.query_info(connection, sql, explain_query_plan=True).query_plan]
    while todo:
        step = todo.pop()
        if step is not None:
            yield step.detail
            todo += step.sub or []

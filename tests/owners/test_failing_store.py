"""A store that fails an owner once, wherever in the life of its job: it still ends once, and as it should."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from inturn.core.job import Condition
from inturn.core.retry import Policy
from inturn.errors import InturnError
from inturn.owners import owner, supervisor
from inturn.store import owners
from inturn.store.db import Store
from inturn.store.transaction import CommitUnknown
from tests.owners.life import Life
from tests.tapped import tapped, unheard

# Fails, and is run again. The second run succeeds, and leaves something behind that has to be ended.
TWO_RUNS = """
echo "$INTURN_RUN" >> runs
[ "$INTURN_ATTEMPT" = 2 ] || exit 1
sleep 600 &
"""
POLICY = Policy(run_limit=2, failure_limit=2)


class Fault:
    """Fails the `number`-th of the statements that `concerns` picks, on one connection.

    `effect` is done instead of the statement.
    """

    def __init__(
        self, number: int, concerns: Callable[[str], bool], effect: Callable[[apsw.Connection], None]
    ) -> None:
        self.left = number
        self._concerns = concerns
        self._effect = effect

    @contextmanager
    def on(self, store: Store) -> Iterator[None]:
        def ask(sql: str) -> None:
            if self._concerns(sql):
                self.left -= 1
                if self.left == 0:
                    self._effect(below)

        with tapped(store, ask) as below:
            yield

    @property
    def happened(self) -> bool:
        return self.left <= 0


def disk_fails(_: apsw.Connection) -> None:
    raise apsw.IOError("disk I/O error")


def locked(_: apsw.Connection) -> None:
    raise apsw.BusyError("database is locked")


def commits(sql: str) -> bool:
    return sql == "COMMIT"


def begins(sql: str) -> bool:
    return sql == "BEGIN IMMEDIATE"


def everything(sql: str) -> bool:
    return sql not in ("COMMIT", "ROLLBACK")


FAULTS = {
    "locked": (begins, locked),
    "not committed": (commits, disk_fails),
    "committed": (commits, unheard),
    "any statement": (everything, disk_fails),
}


def assert_it_went_as_it_should(life: Life) -> None:
    job = life.job
    assert (job.phase, job.outcome) == ("completed", "success")
    assert (job.attempts, job.successes, job.failures, job.crashes) == (2, 1, 1, 0)
    assert [(run.number, run.outcome, run.exit_code) for run in life.runs] == [
        (1, "failure", 1),
        (2, "success", 0),
    ]
    assert life.wrote("runs") == ["1", "2"]
    assert life.events == [
        *("submitted", "accepted", "gates_opened"),
        *("admitted", "started", "repeated"),
        *("admitted", "started", "leftovers_found", "ended"),
    ]
    assert life.slots == 0
    assert owners.live(life.other) == []


def begin(root: Path) -> Life:
    root.mkdir()
    (root / "there").touch()
    conditions = (Condition(0, 0, "file", b"there"),)
    return Life(root, TWO_RUNS, POLICY, conditions=conditions, wait_poll=1000)


@pytest.mark.parametrize("kind", FAULTS)
def test_a_job_ends_once_and_rightly_whatever_fails_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "AFTER_ERROR", 1000)
    number, happened = 0, True
    while happened:
        number += 1
        life = begin(tmp_path / str(number)).accept()
        fault = Fault(number, *FAULTS[kind])
        try:
            with fault.on(life.store):
                life.live()
            assert_it_went_as_it_should(life)
        except BaseException as problem:
            problem.add_note(f"{kind} at number {number}: {life.events}")
            raise
        finally:
            life.close()
        happened = fault.happened
    assert number > 6


@pytest.mark.parametrize(("kind", "raised"), [("locked", InturnError), ("not committed", CommitUnknown)])
def test_a_supervisor_that_cannot_store_that_it_accepts_does_not_take_over(
    kind: str, raised: type[Exception], tmp_path: Path
) -> None:
    life = begin(tmp_path / "it")
    with Fault(1, *FAULTS[kind]).on(life.store), pytest.raises(raised):
        supervisor.take_over(life.tools, life.owner)
    assert life.job.phase == "submitting"
    assert life.owner.tasks == []
    life.close()


def test_a_supervisor_goes_by_what_was_stored_and_not_by_what_it_was_told(tmp_path: Path) -> None:
    life = begin(tmp_path / "it")
    with Fault(1, *FAULTS["committed"]).on(life.store):
        assert supervisor.take_over(life.tools, life.owner)
    life.live()
    assert_it_went_as_it_should(life)
    life.close()

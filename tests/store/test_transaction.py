from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from inturn.errors import InturnError
from inturn.store.db import CHECKPOINT_PAGES, Store
from inturn.store.transaction import CommitUnknown, Stale, translate
from tests.builders import Ring, add_job, new_store
from tests.store.faults import Faults


def add_and_raise(store: Store, error: BaseException) -> None:
    with store.writing():
        add_job(store)
        store.wake(["somebody"])
        raise error


class Interrupted(BaseException):
    """Stands for Ctrl-C."""


def count(store: Store) -> int:
    return int(store.row("SELECT count(*) FROM jobs")[0])


# Committing and undoing.


def test_a_transaction_is_committed_at_its_end(store: Store, tmp_path: Path) -> None:
    with store.writing():
        add_job(store)
    other = new_store(tmp_path)
    assert count(other) == 1
    other.close()


@pytest.mark.parametrize(
    "error", [Stale("late"), ValueError("no"), Interrupted(), InturnError("failed", "x")]
)
def test_an_exception_undoes_everything_and_passes_untouched(store: Store, error: BaseException) -> None:
    with pytest.raises(type(error)) as raised:
        add_and_raise(store, error)
    assert raised.value is error
    assert not store.connection.in_transaction
    assert count(store) == 0


def test_an_error_of_sqlite_undoes_everything_and_is_told_to_the_user(store: Store) -> None:
    with pytest.raises(InturnError) as raised:
        add_and_raise(store, apsw.ConstraintError("NOT NULL constraint failed"))
    assert raised.value.code == "failed"
    assert store.path in raised.value.message
    assert count(store) == 0


@pytest.mark.parametrize("inner", [Store.writing, Store.reading])
@pytest.mark.parametrize("outer", [Store.writing, Store.reading])
def test_transactions_do_not_nest(store: Store, outer: object, inner: object) -> None:
    assert callable(outer)
    assert callable(inner)
    with outer(store):
        before = count(store)
        with pytest.raises(RuntimeError, match="nest"), inner(store):
            raise AssertionError("the inner transaction has begun")
        # The outer one goes on as if nothing had been.
        assert count(store) == before
    with store.writing():
        add_job(store)
    assert count(store) == 1


def test_the_statements_of_a_read_see_one_state(store: Store, tmp_path: Path) -> None:
    other = new_store(tmp_path)
    with store.reading():
        assert count(store) == 0
        with other.writing():
            add_job(other)
        assert count(store) == 0
    assert count(store) == 1
    other.close()


def test_a_commit_of_another_connection_changes_the_version_and_our_own_does_not(
    store: Store, tmp_path: Path
) -> None:
    other = new_store(tmp_path)
    before = store.version()
    with store.writing():
        add_job(store)
    assert store.version() == before
    with other.writing():
        add_job(other)
    assert store.version() != before
    other.close()


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_a_durable_transaction_is_synchronized_fully(store: Store, durable: bool, level: int) -> None:
    with store.writing(durable=not durable):
        add_job(store)
    with store.writing(durable=durable):
        add_job(store)
        assert store.row("PRAGMA synchronous") == (level,)


def test_what_was_committed_survives_the_kill_of_the_process(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from tests.builders import *\n"
        "store = new_store(Path(sys.argv[1]))\n"
        "with store.writing(): add_job(store)\n"
        "store.execute('BEGIN IMMEDIATE'); add_job(store)\n"
        "print('committed', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "committed\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    store = new_store(tmp_path)
    assert count(store) == 1
    with store.writing():
        add_job(store)
    store.close()


# Disks that fail.


@pytest.fixture
def faults() -> Iterator[Faults]:
    made = Faults(f"faults-{os.getpid()}")
    apsw.set_default_vfs(made.name)
    yield made
    apsw.set_default_vfs("unix")
    made.unregister()


def test_a_commit_that_fails_anywhere_is_unknown_and_the_store_goes_on(
    faults: Faults, tmp_path: Path
) -> None:
    ring = Ring()
    store = new_store(tmp_path, ring)
    position = 0
    while _commit_fails_after(store, faults, position):
        assert not store.connection.in_transaction
        with store.writing():
            add_job(store)
        position += 1
    assert position > 5
    assert ring.told == [{"somebody"}], "nobody is told of what may not be there"
    assert store.row("PRAGMA integrity_check") == ("ok",)
    store.close()


def _commit_fails_after(store: Store, faults: Faults, operations: int) -> bool:
    jobs = count(store)
    try:
        with faults.after(operations), store.writing():
            add_job(store)
            store.wake(["somebody"])
    except CommitUnknown as unknown:
        message = str(unknown)
    else:
        assert count(store) == jobs + 1
        return False
    assert "disk has failed" in message
    assert count(store) in (jobs, jobs + 1)
    return True


def test_a_checkpoint_that_fails_is_no_failed_commit(
    faults: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inturn.store.db.CHECKPOINT_PAGES", 1)
    faults.watched = apsw.SQLITE_OPEN_MAIN_DB
    ring = Ring()
    store = new_store(tmp_path, ring)
    for position in range(3):
        with faults.after(position), store.writing():
            add_job(store)
            store.wake(["somebody"])
    assert faults.failed >= 3
    assert (count(store), len(ring.told)) == (3, 3)
    store.close()


# Locks.


def test_a_lock_that_is_held_beyond_the_deadline_is_busy(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_store(tmp_path)
    monkeypatch.setattr("inturn.store.db.BUSY_DEADLINE", 0.1)
    with store.writing():
        with pytest.raises(InturnError) as raised, other.writing():
            raise AssertionError("two writers at once")
        assert raised.value.code == "store_busy"
        assert raised.value.hint
    with other.writing():
        add_job(other)
    other.close()


def test_writers_that_meet_take_turns_and_none_is_lost(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.builders import *\n"
        "store = new_store(Path(sys.argv[1]))\n"
        "for _ in range(50):\n"
        "    with store.writing(): add_job(store)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=Path(__file__).parents[2])
        for _ in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0] * 4
    store = new_store(tmp_path)
    assert count(store) == 200
    store.close()


# Hints.


def test_hints_ring_after_the_commit_and_each_owner_once(tmp_path: Path) -> None:
    seen: list[tuple[set[str], int]] = []
    other = new_store(tmp_path)

    class Looking(Ring):
        def __call__(self, tokens: object) -> None:
            super().__call__(tokens)
            seen.append((self.told[-1], count(other)))

    store = new_store(tmp_path, Looking())
    with store.writing():
        add_job(store)
        store.wake(["a", "b"])
        store.wake(["a"])
        assert seen == []
    assert seen == [({"a", "b"}, 1)]
    with store.writing():
        add_job(store)
    assert len(seen) == 1
    store.close()
    other.close()


def test_hints_of_a_transaction_that_was_undone_never_ring(store: Store, ring: Ring) -> None:
    with pytest.raises(Stale):
        add_and_raise(store, Stale("late"))
    with store.writing():
        add_job(store)
        store.wake(["b"])
    with store.reading():
        count(store)
    assert ring.told == [{"b"}]


# The write-ahead log.


def test_the_wal_stays_short_over_many_commits(store: Store, tmp_path: Path) -> None:
    wal = Path(store.path + "-wal")
    page = store.connection.pragma("page_size")
    longest = 0
    for number in range(5_000):
        with store.writing(durable=False):
            store.execute("INSERT INTO environments (checksum, body) VALUES (?, zeroblob(200))", (number,))
        longest = max(longest, wal.stat().st_size)
    assert longest < 2 * CHECKPOINT_PAGES * page


def test_the_wal_is_short_again_after_a_reader_that_held_it_back(store: Store, tmp_path: Path) -> None:
    other = new_store(tmp_path)
    with other.reading():
        count(other)
        for number in range(600):
            with store.writing(durable=False):
                store.execute(
                    "INSERT INTO environments (checksum, body) VALUES (?, zeroblob(9000))", (number,)
                )
    other.close()
    # The first commit checkpoints all of it, so that the next begins the WAL anew.
    for number in range(2):
        with store.writing(durable=False):
            store.execute("INSERT INTO environments (checksum, body) VALUES (?, x'')", (number,))
    frames, _ = store.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    assert frames < 10


# What errors mean.


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (apsw.BusyError("x"), "store_busy"),
        (apsw.NotADBError("x"), "store_unusable"),
        (apsw.CorruptError("x"), "store_unusable"),
        (apsw.ReadOnlyError("x"), "store_unusable"),
        (apsw.CantOpenError("x"), "store_unusable"),
        (PermissionError("x"), "store_unusable"),
        (apsw.FullError("x"), "failed"),
        (apsw.IOError("x"), "failed"),
    ],
)
def test_every_error_of_sqlite_has_a_code_and_names_the_file(error: Exception, code: str) -> None:
    told = translate(error, "/there/inturn.db")
    assert told.code == code
    assert "/there/inturn.db" in told.message

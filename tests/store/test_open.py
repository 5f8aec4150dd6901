from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from inturn.core.layout import DATABASE
from inturn.errors import InturnError
from inturn.store import migrate
from inturn.store.backup import back_up
from inturn.store.db import Store, open_store
from tests.builders import add_job, new_store
from tests.store.racing import race

# Waits for the signal to start, so that all processes open the new store at the same instant.
OPENER = """
import os, sys, time
from pathlib import Path
from tests.builders import add_job, new_store
directory = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
store = new_store(directory)
with store.writing():
    add_job(store)
store.close()
"""

Damage = Callable[[Path], None]


def pristine(directory: Path) -> Path:
    """A store with a job, as one file that nobody has open; returns the file."""
    directory.mkdir(exist_ok=True)
    store = new_store(directory)
    with store.writing():
        add_job(store)
    close_whole(store)
    assert os.listdir(directory) == [DATABASE]
    return directory / DATABASE


def close_whole(store: Store) -> None:
    """Close the last connection so that everything is in the one file."""
    store.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    store.close()


def contents(directory: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


def refusal(directory: Path, create: bool = True) -> InturnError:
    """The error with which a store is refused; nothing in the directory may have changed."""
    before = contents(directory)
    with pytest.raises(InturnError) as refused:
        open_store(str(directory), lambda tokens: None, create)
    assert refused.value.code == "store_unusable"
    assert DATABASE in refused.value.message
    assert contents(directory) == before
    return refused.value


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


# Creating.


def test_sixteen_processes_that_open_a_new_store_at_once_all_succeed_and_all_commit(tmp_path: Path) -> None:
    race(OPENER, tmp_path, 16)
    store = new_store(tmp_path)
    assert store.row("SELECT count(*), count(DISTINCT id) FROM jobs") == (16, 16)
    assert store.row("SELECT count(*) FROM migrations") == (len(migrate.MIGRATIONS),)
    assert store.row("PRAGMA integrity_check") == ("ok",)
    store.close()


@pytest.mark.parametrize("mask", [0, 0o077])
def test_all_files_of_the_store_are_private_from_the_first_on(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        store = new_store(tmp_path)
        with store.writing():
            add_job(store)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        store.close()
    assert modes == dict.fromkeys((DATABASE, DATABASE + "-wal", DATABASE + "-shm"), 0o600)


def test_without_leave_to_create_nothing_is_created(tmp_path: Path) -> None:
    refusal(tmp_path, create=False)
    assert os.listdir(tmp_path) == []


def test_what_was_committed_is_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.writing():
        add_job(store)
    store.close()
    again = new_store(tmp_path)
    assert again.row("SELECT count(*) FROM jobs") == (1,)
    assert again.row("PRAGMA foreign_keys") == (1,)
    assert again.row("PRAGMA journal_mode") == ("wal",)
    again.close()


def test_a_second_connection_of_one_process_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    new_store(tmp_path).close()
    # Had the second opened and closed the file by itself, the lock of the first would be gone with that, and
    # another process could take the WAL away under it.
    program = "import apsw, sys; apsw.Connection(sys.argv[1]).execute('PRAGMA journal_mode = delete').get"
    other = subprocess.run([sys.executable, "-c", program, store.path], stderr=subprocess.PIPE, text=True)
    assert "BusyError" in other.stderr
    store.close()


# Refusing.


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def cut_in_the_first_page(path: Path) -> None:
    os.truncate(path, 1000)


def cut_in_the_header(path: Path) -> None:
    os.truncate(path, 50)


def garbage_in_the_schema(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(bytes(range(255, 5, -1)) * 15)


def garbage_as_the_first_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(range(255, 5, -1)) * 16)


@pytest.mark.parametrize(
    "damage",
    [
        truncated,
        cut_in_the_first_page,
        cut_in_the_header,
        garbage_in_the_schema,
        garbage_as_the_first_page,
    ],
)
def test_a_damaged_store_is_refused_and_left_as_it_is(tmp_path: Path, damage: Damage) -> None:
    damage(pristine(tmp_path))
    assert refusal(tmp_path).hint


@pytest.mark.parametrize("text", ["x", "These are notes.\n", "These are many notes.\n" * 1000])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    (tmp_path / DATABASE).write_text(text)
    assert "not a database" in refusal(tmp_path).message


@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
@pytest.mark.parametrize("marks", ["", "PRAGMA application_id = 99", "PRAGMA user_version = 1001"])
def test_the_database_of_another_program_is_refused_and_left_as_it_is(
    tmp_path: Path, journal_mode: str, marks: str
) -> None:
    connection = apsw.Connection(str(tmp_path / DATABASE))
    connection.pragma("journal_mode", journal_mode)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.execute(marks)
    connection.close()
    assert "another program" in refusal(tmp_path).message


def with_version(directory: Path, version: int) -> None:
    path = pristine(directory)
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def test_a_store_of_a_newer_major_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with_version(tmp_path, (migrate.MAJOR + 1) * 1000 + 3)
    error = refusal(tmp_path)
    assert f"{migrate.MAJOR + 1}.3" in error.message
    assert "upgrade" in error.hint


def test_a_newer_version_that_is_still_in_the_wal_is_seen_too(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.execute(f"PRAGMA user_version = {(migrate.MAJOR + 1) * 1000}")
    store.close()
    before = {name: digest for name, digest in contents(tmp_path).items() if not name.endswith("-shm")}
    with pytest.raises(InturnError, match="newer"):
        new_store(tmp_path)
    # The index of the WAL is rebuilt by whoever comes first; what was committed is untouched.
    assert before.items() <= contents(tmp_path).items()


def test_a_newer_minor_version_is_used_as_it_is(tmp_path: Path) -> None:
    newer = migrate.CURRENT + 7
    with_version(tmp_path, newer)
    store = new_store(tmp_path)
    with store.writing():
        add_job(store)
    assert store.row("PRAGMA user_version") == (newer,)
    assert store.row("SELECT count(*) FROM jobs") == (2,)
    store.close()


@pytest.mark.parametrize("there", [True, False])
def test_a_symbolic_link_in_place_of_the_database_is_refused(tmp_path: Path, there: bool) -> None:
    target = pristine(tmp_path / "elsewhere") if there else tmp_path / "nowhere"
    linked = tmp_path / "store"
    linked.mkdir()
    (linked / DATABASE).symlink_to(target)
    digest = target.read_bytes() if there else None
    with pytest.raises(InturnError) as refused:
        new_store(linked)
    assert refused.value.code == "store_unusable"
    assert os.listdir(linked) == [DATABASE]
    assert (target.read_bytes() if target.exists() else None) == digest
    assert sorted(os.listdir(tmp_path)) == (["elsewhere", "store"] if there else ["store"])


def test_a_directory_in_place_of_the_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / DATABASE).mkdir()
    with pytest.raises(InturnError) as refused:
        new_store(tmp_path)
    assert refused.value.code == "store_unusable"


def test_damage_that_shows_only_later_is_told_in_the_same_way(tmp_path: Path) -> None:
    path = pristine(tmp_path)
    connection = apsw.Connection(str(path))
    root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs'").get
    page = connection.pragma("page_size")
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\x5a" * page)
    store = new_store(tmp_path)
    with pytest.raises(InturnError) as refused, store.reading():
        store.row("SELECT name FROM jobs")
    assert (refused.value.code, "damaged" in refused.value.message) == ("store_unusable", True)
    store.close()


def test_a_file_that_somebody_has_put_in_the_place_of_a_backup_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: b"\x07" * size)
    planted = tmp_path / f"{DATABASE}.backup.{'07' * 8}"
    planted.touch(0o666)
    store = new_store(tmp_path)
    with pytest.raises(FileExistsError):
        back_up(store.connection, str(tmp_path / f"{DATABASE}.backup"))
    store.close()
    assert planted.read_bytes() == b""


def test_the_schema_of_a_store_is_not_trusted(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert store.connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1) == 0
    assert store.connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1
    store.close()


def test_a_store_that_stays_locked_is_busy_and_not_unusable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / DATABASE
    path.touch()
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("inturn.store.db.BUSY_DEADLINE", 0.2)
    with pytest.raises(InturnError) as refused:
        new_store(tmp_path)
    assert refused.value.code == "store_busy"
    holder.close()
    new_store(tmp_path).close()


def test_no_connection_is_left_behind_by_a_refusal(tmp_path: Path) -> None:
    truncated(pristine(tmp_path))
    refusal(tmp_path)
    assert _open_files(tmp_path) == []


def _open_files(directory: Path) -> list[str]:
    targets = []
    for name in os.listdir("/proc/self/fd"):
        try:
            targets.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:
            pass
    return [target for target in targets if target.startswith(str(directory))]

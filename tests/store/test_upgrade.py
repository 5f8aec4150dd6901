"""What becomes of a store that an older inturn has made, and of one whose creation was interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from inturn.core.layout import DATABASE
from inturn.errors import InturnError
from inturn.store import migrate, upgrade
from tests.builders import add_job, new_store
from tests.store.racing import race

# Released stores were made by exactly this file: a change of it would give two schemas one version.
FROZEN = {
    "0001.sql": "9775323facdddeae801036aee8e9bd57add469d9075dfab08dad79132c8aa6a8",
    "0002.sql": "3a16469b438fe7ad98e7844ade194532e843b40512410735e85394ca8952099b",
    "0003.sql": "bb0aa012d2f390d5f382c4bca45a20847944b54fec87db13a82f1295d95866af",
    "0004.sql": "b55ba5631eb5bd1346d7f723c92d5eb41872f506ff8810a48fefb11551a257e5",
}

OLDER = migrate.MAJOR * 1000
BACKUP = f"{DATABASE}.backup-{OLDER}"

# Waits for the signal to start, so that all processes find the older store at the same instant.
UPGRADER = """
import sys
from pathlib import Path
from tests.builders import new_store
print("ready", flush=True)
sys.stdin.readline()
new_store(Path(sys.argv[1])).close()
"""


def claimed(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA application_id = {migrate.APPLICATION_ID}")
    connection.close()


def claimed_in_wal(path: Path) -> None:
    claimed(path)
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.close()


def older(directory: Path, table: str = "old", journal_mode: str = "delete") -> Path:
    """A store of this major version to which no migration has been applied yet."""
    path = directory / DATABASE
    claimed(path)
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", journal_mode)
    connection.execute(f"CREATE TABLE {table} (x); PRAGMA user_version = {OLDER}")
    connection.close()
    return path


def use(path: Path, over: threading.Event | None = None) -> None:
    """Commit the version that the schema has now, as an older inturn would; once, or all the time."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.set_busy_timeout(60_000)
        connection.execute("INSERT INTO old SELECT user_version FROM pragma_user_version")
        while over is not None and not over.wait(0.001):
            connection.execute("INSERT INTO old SELECT user_version FROM pragma_user_version")


def uses(path: Path) -> int:
    """How often `use` has committed while the schema was the older one."""
    with closing(apsw.Connection(str(path))) as connection:
        return int(connection.execute("SELECT count(*) FROM old WHERE x = ?", (OLDER,)).get)


def restore(directory: Path, backup: str) -> None:
    """Put a backup into the place of the store."""
    for suffix in ("-wal", "-shm"):
        (directory / f"{DATABASE}{suffix}").unlink(missing_ok=True)
    shutil.copy(directory / backup, directory / DATABASE)


def backups(directory: Path) -> list[str]:
    """The names of all copies, whole or not."""
    return sorted(name for name in os.listdir(directory) if "backup" in name)


@pytest.mark.parametrize("interrupted", [Path.touch, claimed, claimed_in_wal])
def test_a_creation_that_was_interrupted_is_completed(
    tmp_path: Path, interrupted: Callable[[Path], None]
) -> None:
    interrupted(tmp_path / DATABASE)
    store = new_store(tmp_path)
    with store.writing():
        add_job(store)
    assert store.row("PRAGMA user_version") == (migrate.CURRENT,)
    store.close()
    assert backups(tmp_path) == []


def test_migrations_that_were_released_never_change() -> None:
    digests = {name: sha256(upgrade.script(name)).hexdigest() for name in migrate.MIGRATIONS}
    changed = {name: digest for name, digest in digests.items() if FROZEN.get(name) != digest}
    assert not changed, (
        f"a migration was changed or added. Before the first release, or for a new file, put its digest into"
        f" FROZEN of {Path(__file__).name}; a released one must stay as it is: add another file instead."
        f" The digests are now {changed}"
    )


def test_a_migration_is_applied_once_and_says_which_text_it_was(tmp_path: Path) -> None:
    for _ in range(3):
        store = new_store(tmp_path)
        rows = store.execute("SELECT number, checksum FROM migrations").fetchall()
        store.close()
    assert [number for number, _ in rows] == list(range(1, len(migrate.MIGRATIONS) + 1))
    assert all(checksum for _, checksum in rows)


def test_the_switch_to_wal_outlasts_a_reader_for_whom_the_busy_handler_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = apsw.Connection(str(older(tmp_path)))
    reader.execute("BEGIN; SELECT * FROM old")
    monkeypatch.setattr("inturn.store.db.BUSY_DEADLINE", 0)
    leaving = threading.Timer(0.2, reader.close)
    leaving.start()
    store = new_store(tmp_path)
    leaving.join()
    assert store.row("PRAGMA journal_mode") == ("wal",)
    store.close()


def test_an_older_store_that_cannot_be_written_is_left_alone_and_the_error_says_why(
    tmp_path: Path,
) -> None:
    path = older(tmp_path)
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(f"PRAGMA user_version = {OLDER + 1}")
    before = path.read_bytes()
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        with pytest.raises(InturnError, match=r"an older inturn .* cannot be written") as refused:
            migrate.bring_up_to_date(connection, str(path))
        assert refused.value.code == "store_unusable"
    assert path.read_bytes() == before
    assert backups(tmp_path) == []


# Copies.


@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_an_older_store_is_backed_up_before_it_is_migrated(tmp_path: Path, journal_mode: str) -> None:
    older(tmp_path, journal_mode=journal_mode)
    store = new_store(tmp_path)
    assert store.row("PRAGMA user_version") == (migrate.CURRENT,)
    store.close()
    backup = tmp_path / BACKUP
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    copy = apsw.Connection(str(backup))
    assert copy.execute("SELECT name FROM sqlite_schema").fetchall() == [("old",)]
    assert copy.pragma("user_version") == OLDER
    copy.close()
    assert backups(tmp_path) == [BACKUP]


def test_a_store_that_was_restored_and_used_is_backed_up_anew_beside_the_earlier_backups(
    tmp_path: Path,
) -> None:
    use(older(tmp_path))
    new_store(tmp_path).close()
    first = (tmp_path / BACKUP).read_bytes()
    for times in (2, 3):
        restore(tmp_path, backups(tmp_path)[-1])
        use(tmp_path / DATABASE)
        new_store(tmp_path).close()
        assert backups(tmp_path) == [BACKUP, *(f"{BACKUP}.{number}" for number in range(2, times + 1))]
        assert uses(tmp_path / f"{BACKUP}.{times}") == times
    assert (tmp_path / BACKUP).read_bytes() == first


def test_a_store_that_was_only_restored_is_not_copied_a_second_time(tmp_path: Path) -> None:
    use(older(tmp_path))
    new_store(tmp_path).close()
    restore(tmp_path, BACKUP)
    new_store(tmp_path).close()
    assert backups(tmp_path) == [BACKUP]
    assert uses(tmp_path / DATABASE) == 1


def test_a_migration_that_fails_again_and_again_leaves_one_copy_and_the_store_as_it_was(
    tmp_path: Path,
) -> None:
    older(tmp_path, table="jobs")  # which the first migration would create
    for _ in range(3):
        with pytest.raises(InturnError, match="jobs"):
            new_store(tmp_path)
    assert backups(tmp_path) == [BACKUP]
    with closing(apsw.Connection(str(tmp_path / DATABASE))) as connection:
        assert connection.pragma("user_version") == OLDER
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("jobs",)]


@pytest.mark.parametrize("at", ["copying", "named"])
def test_of_an_upgrade_that_was_killed_while_it_copied_the_next_one_leaves_nothing(
    tmp_path: Path, at: str
) -> None:
    use(older(tmp_path))
    call = {"copying": "link", "named": "unlink"}[at]
    killed = (
        f"import os, signal; os.{call} = lambda *names: os.kill(os.getpid(), signal.SIGKILL)\n" + UPGRADER
    )
    done = subprocess.run(
        [sys.executable, "-c", killed, str(tmp_path)], cwd=Path(__file__).parents[2], input=b"go\n"
    )
    assert done.returncode == -signal.SIGKILL
    assert any(name.count(".") > BACKUP.count(".") for name in backups(tmp_path))
    new_store(tmp_path).close()
    assert backups(tmp_path) == [BACKUP]
    assert uses(tmp_path / BACKUP) == 1


@pytest.mark.parametrize("there", [True, False])
def test_what_has_the_name_of_a_backup_and_is_none_is_left_alone(tmp_path: Path, there: bool) -> None:
    older(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    if there:
        elsewhere.write_text("precious")
    (tmp_path / BACKUP).symlink_to(elsewhere)
    new_store(tmp_path).close()
    assert backups(tmp_path) == [BACKUP, f"{BACKUP}.2"]
    assert uses(tmp_path / f"{BACKUP}.2") == 0
    assert (elsewhere.read_text() if elsewhere.exists() else None) == ("precious" if there else None)


@contextmanager
def in_use(path: Path) -> Iterator[None]:
    """Have somebody commit all the time."""
    over = threading.Event()
    user = threading.Thread(target=use, args=(path, over))
    user.start()
    try:
        yield
    finally:
        over.set()
        user.join()


def test_of_many_processes_that_find_an_older_store_in_use_one_backs_up_all_of_it(tmp_path: Path) -> None:
    path = older(tmp_path, journal_mode="wal")
    use(path)
    with in_use(path):
        race(UPGRADER, tmp_path, 8)
    assert backups(tmp_path) == [BACKUP]
    assert uses(tmp_path / BACKUP) == uses(path) > 0

"""Creating the schema in an empty file, and migrating a store of an older version.

Only `inturn.store.migrate` comes here, when a store is not what it is to be.
"""

from __future__ import annotations

import os
from binascii import crc32
from filecmp import cmp
from time import monotonic, sleep, time_ns

import apsw

from inturn.errors import InturnError
from inturn.store.backup import back_up, sweep
from inturn.store.migrate import APPLICATION_ID, CURRENT, MAJOR, MIGRATIONS
from inturn.store.transaction import Transaction

# How long to insist on the switch to WAL while others open the same new file; SQLite's busy handler does not
# cover it.
WAL_DEADLINE = 30.0


def upgrade(connection: apsw.Connection, path: str, version: int) -> None:
    """Bring a database of this `version`, 0 if it is empty, to the current one; an older one is backed up.

    Raises InturnError `store_unusable` if it cannot be switched to write-ahead logging, and OSError or an
    error of SQLite if there is no room for the backup: then nothing is migrated.
    """
    if 0 < version < CURRENT and connection.readonly("main"):
        raise InturnError(
            "store_unusable",
            f"{path} has the schema of an older inturn ({MAJOR}.{version % 1000}), and cannot be written"
            f" to be brought to {MAJOR}.{CURRENT % 1000}",
            "Check its permissions and mount, or use the inturn that made it.",
        )
    if not version:
        _claim(connection)
    _switch_to_wal(connection, path)
    _migrate(connection, path)


def _claim(connection: apsw.Connection) -> None:
    """Mark an empty file as ours while it is still in rollback mode, so that its header tells at once."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _switch_to_wal(connection: apsw.Connection, path: str) -> None:
    deadline = monotonic() + WAL_DEADLINE
    while True:
        try:
            if connection.pragma("journal_mode", "wal") == "wal":
                return
        except apsw.BusyError:
            pass
        if monotonic() > deadline:
            raise InturnError(
                "store_unusable",
                f"{path} cannot be switched to write-ahead logging",
                "keep the store on a local file system",
            )
        sleep(0.001 + 0.004 * os.urandom(1)[0] / 255)


def _migrate(connection: apsw.Connection, path: str) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    # A migration may put the text of the schema in other words.
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        _run_migrations(connection, path)
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def _run_migrations(connection: apsw.Connection, path: str) -> None:
    with Transaction(connection, path, "BEGIN IMMEDIATE"):
        # From here on nobody else writes: what is copied is what is migrated.
        version = int(connection.pragma("user_version"))
        if version >= CURRENT:
            return  # Another process came first.
        if version:
            # Of one that was killed while it copied. As large as the store, it may take the room for a copy.
            sweep(path)
            _back_up(path, f"{path}.backup-{version}")
        done = version % 1000
        for number, name in enumerate(MIGRATIONS[done:], start=done + 1):
            text = script(name)
            connection.execute(text.decode())
            connection.execute(
                "INSERT INTO migrations (number, checksum, applied_at) VALUES (?, ?, ?)",
                (number, crc32(text), time_ns() // 1000),
            )
        connection.execute(f"PRAGMA user_version = {CURRENT}")
        # All connections, this one too, are to read the schema afresh, whatever has changed in it.
        connection.execute(f"PRAGMA schema_version = {connection.pragma('schema_version') + 1}")


def script(name: str) -> bytes:
    """The text of a migration."""
    with open(os.path.join(os.path.dirname(__file__), "migrations", name), "rb") as file:
        return file.read()


def _back_up(path: str, name: str) -> None:
    """Copy the store to a file of this name, or of the first one of `name`.2, `name`.3 … that is free.

    Another state may have been copied before: that of a store which was restored from a backup and used. If
    it is the same state, after a migration that has failed, that copy will do.
    """
    earlier: list[str] = []
    target = name
    while os.path.lexists(target):
        earlier.append(target)
        target = f"{name}.{len(earlier) + 1}"
    # SQLite copies nothing from a connection that is writing.
    reader = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        back_up(reader, target)
    finally:
        reader.close()
    if any(_are_alike(target, other) for other in earlier):
        os.unlink(target)


def _are_alike(path: str, other: str) -> bool:
    """Whether two files hold the same bytes, as two copies of one state do."""
    try:
        return cmp(path, other, shallow=False)
    except OSError:
        return False  # a link that leads nowhere

"""Creating the schema in an empty file, and migrating a store of an older version.

Only `inturn.store.migrate` comes here, when a store is not what it is to be.
"""

from __future__ import annotations

import os
from binascii import crc32
from time import monotonic, sleep, time_ns

import apsw

from inturn.errors import InturnError
from inturn.store.backup import back_up
from inturn.store.migrate import APPLICATION_ID, CURRENT, MIGRATIONS
from inturn.store.transaction import Transaction

# How long to insist on the switch to WAL while others open the same new file; SQLite's busy handler does not
# cover it.
WAL_DEADLINE = 30.0


def upgrade(connection: apsw.Connection, path: str, version: int) -> None:
    """Bring a database of this `version`, 0 if it is empty, to the current one; an older one is backed up.

    Raises InturnError `store_unusable` if it cannot be switched to write-ahead logging.
    """
    if not version:
        _claim(connection)
    elif version < CURRENT:
        _back_up(connection, f"{path}.backup-{version}")
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
        done = int(connection.pragma("user_version")) % 1000
        for number, name in enumerate(MIGRATIONS[done:], start=done + 1):
            text = script(name)
            connection.execute(text.decode())
            connection.execute(
                "INSERT INTO migrations (number, checksum, applied_at) VALUES (?, ?, ?)",
                (number, crc32(text), time_ns() // 1000),
            )
        if done < len(MIGRATIONS):
            connection.execute(f"PRAGMA user_version = {CURRENT}")
            # All connections, this one too, are to read the schema afresh, whatever has changed in it.
            connection.execute(f"PRAGMA schema_version = {connection.pragma('schema_version') + 1}")


def script(name: str) -> bytes:
    """The text of a migration."""
    with open(os.path.join(os.path.dirname(__file__), "migrations", name), "rb") as file:
        return file.read()


def _back_up(connection: apsw.Connection, target: str) -> None:
    """Copy the store before it is changed; if a copy is there, another process came first."""
    try:
        back_up(connection, target)
    except FileExistsError:
        pass

"""The schema's version: creating a store, bringing an old one up to date, refusing what is not ours.

`PRAGMA user_version` is major · 1000 + the number of the last migration. Within a major version migrations
only add, so that a process started by an older inturn finishes its work on a newer store.
"""

from __future__ import annotations

import os
from time import monotonic, sleep, time_ns

import apsw

from inturn.errors import InturnError
from inturn.store.transaction import Transaction

MAJOR = 1
MIGRATIONS = ("0001.sql", "0002.sql")
CURRENT = MAJOR * 1000 + len(MIGRATIONS)

# "intu": tells an inturn store from any other SQLite file.
APPLICATION_ID = 0x696E7475

# How every SQLite file begins. At 60 follows the user_version, at 68 the application_id (see
# sqlite.org/fileformat2).
MAGIC = b"SQLite format 3\0"

# How long to insist on the switch to WAL while others open the same new file; SQLite's busy handler does not
# cover it.
WAL_DEADLINE = 30.0


def bring_up_to_date(connection: apsw.Connection, path: str) -> None:
    """Make the open database one that this program can use.

    Creates the schema in an empty file; backs an older one up and migrates it; leaves a newer minor version
    as it is. Raises InturnError `store_unusable` for anything else, without having written.
    """
    _check_header(connection, path)
    version = _accepted(_version(connection), path)
    if version >= CURRENT and connection.pragma("journal_mode") == "wal":
        return
    if not version:
        _claim(connection)
    elif version < CURRENT:
        _back_up(connection, f"{path}.backup-{version}")
    _switch_to_wal(connection, path)
    _migrate(connection, path)


def _check_header(connection: apsw.Connection, path: str) -> None:
    """Refuse by the first bytes of the file what can be refused by them.

    A query would do, but it would put a -wal and a -shm beside a file that is none of our business, and
    SQLite takes a file of a few bytes for an empty one. What a crash has left beside a journal is SQLite's to
    judge.
    """
    if not os.stat(path).st_size:
        return
    whole, header = connection.read("main", 0, 0, 72)
    if whole and header.startswith(MAGIC):
        ours = int.from_bytes(header[68:72], "big") == APPLICATION_ID
        _accepted(int.from_bytes(header[60:64], "big") if ours else None, path)
    elif not os.path.exists(path + "-journal"):
        raise apsw.NotADBError("no SQLite header")


def _accepted(version: int | None, path: str) -> int:
    if version is None:
        raise InturnError(
            "store_unusable", f"{path} belongs to another program", "name another directory with --dir"
        )
    if version // 1000 > MAJOR:
        raise InturnError(
            "store_unusable",
            f"{path} was written by a newer inturn (schema {version // 1000}.{version % 1000})",
            "upgrade inturn, or name another directory with --dir",
        )
    return version


def _version(connection: apsw.Connection) -> int | None:
    """The schema's version, 0 for an empty database, None for somebody else's."""
    version = int(connection.pragma("user_version"))
    if connection.pragma("application_id") == APPLICATION_ID:
        return version
    if version or connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        # Another process may have claimed the file between the two looks.
        return version if connection.pragma("application_id") == APPLICATION_ID else None
    return 0


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
    from binascii import crc32  # seldom needed, and a library of its own

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
    from inturn.store.backup import back_up

    try:
        back_up(connection, target)
    except FileExistsError:
        pass

"""The schema's version: which stores are fit for use, which are brought up to date, which are not ours.

`PRAGMA user_version` is major · 1000 + the number of the last migration. Within a major version migrations
only add, so that a process started by an older inturn finishes its work on a newer store.
"""

from __future__ import annotations

import os

import apsw

from inturn.errors import InturnError

MAJOR = 1
MIGRATIONS = ("0001.sql", "0002.sql", "0003.sql", "0004.sql")
CURRENT = MAJOR * 1000 + len(MIGRATIONS)

# "intu": tells an inturn store from any other SQLite file.
APPLICATION_ID = 0x696E7475

# How every SQLite file begins. At 60 follows the user_version, at 68 the application_id (see
# sqlite.org/fileformat2).
MAGIC = b"SQLite format 3\0"


def bring_up_to_date(connection: apsw.Connection, path: str) -> None:
    """Make the open database one that this program can use.

    Creates the schema in an empty file; backs an older one up and migrates it; leaves a newer minor version
    as it is. Raises InturnError `store_unusable` for anything else, without having written.
    """
    _check_header(connection, path)
    version = _accepted(_version(connection), path)
    if version >= CURRENT and connection.pragma("journal_mode") == "wal":
        return
    from inturn.store.upgrade import upgrade  # seldom needed, and everybody opens a store

    upgrade(connection, path, version)


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

"""A consistent copy of the database while others write to it."""

from __future__ import annotations

import os

import apsw


def back_up(connection: apsw.Connection, target: str) -> None:
    """Copy the open database to a new file (0600), which appears whole or not at all.

    Raises FileExistsError if `target` is there, OSError, or an error of SQLite.
    """
    # A name that nobody can foresee: where others may write, they could put a file of theirs in its place.
    unfinished = f"{target}.{os.urandom(8).hex()}"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    os.close(os.open(unfinished, flags, 0o600))
    try:
        copy = apsw.Connection(unfinished)
        try:
            with copy.backup("main", connection, "main") as backup:
                backup.step()
            # One file for itself, without a -wal beside it, wherever it is taken.
            copy.pragma("journal_mode", "delete")
        finally:
            copy.close()
        _flush(unfinished)
        os.link(unfinished, target)
        _flush(os.path.dirname(target) or os.curdir)
    finally:
        os.unlink(unfinished)


def _flush(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

"""A consistent copy of the database while others write to it."""

from __future__ import annotations

import fcntl
import os
import stat

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What SQLite puts beside a file while it writes it.
_BESIDE = ("journal", "wal", "shm")


def back_up(connection: apsw.Connection, target: str) -> None:
    """Copy the open database to a new file (0600), which appears whole or not at all.

    Raises FileExistsError if `target` is there, OSError, or an error of SQLite.
    """
    unfinished, lock = _begin(target)
    try:
        copy = apsw.Connection(unfinished)
        try:
            with copy.backup("main", connection, "main") as backup:
                backup.step()
            # One file for itself, without a -wal beside it, wherever it is taken.
            copy.pragma("journal_mode", "delete")
        finally:
            copy.close()
        os.fsync(lock)
        os.link(unfinished, target)
        _flush(os.path.dirname(target) or os.curdir)
    finally:
        os.unlink(unfinished)
        os.close(lock)


def _begin(target: str) -> tuple[str, int]:
    """A new file beside `target`, and a descriptor whose lock tells `abandoned` that it is being written."""
    while True:
        # A name that nobody can foresee: where others may write, they could put a file of theirs there.
        unfinished = f"{target}.{os.urandom(8).hex()}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(unfinished, flags, 0o600)
        # SQLite's own locks on it are of another kind, and know nothing of this one.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            return unfinished, lock
        os.close(lock)  # Somebody has swept it away before it was locked.


def abandoned(path: str) -> list[str]:
    """Copies of the database `path`, begun by an upgrade, that nobody will finish: who began them has died.

    What SQLite has put beside a copy belongs to it, and may be all that is left of it.
    """
    return [copy for copy in _unfinished(path) if _locked(copy, lambda: True)]


def sweep(path: str) -> int:
    """Remove what `abandoned` finds, as far as that can be done; returns how many copies that were."""
    return sum(
        _locked(copy, lambda files=files: _remove(files))  # type: ignore[misc]
        for copy, files in _unfinished(path).items()
    )


def _unfinished(path: str) -> dict[str, list[str]]:
    """The files of each unfinished copy, the copy itself as the last: by its name the others are found."""
    import re  # only now: an upgrade is rare

    directory, name = os.path.split(path)
    # That of a whole one is without the word that nobody can foresee.
    pattern = re.compile(re.escape(name) + r"\.backup-\d+(\.\d{1,9})?\.[0-9a-f]{16}")
    found: dict[str, list[str]] = {}
    for file in sorted(os.listdir(directory), reverse=True):
        copy, dash, kind = file.rpartition("-")
        copy = copy if dash and kind in _BESIDE else file
        if pattern.fullmatch(copy):
            found.setdefault(os.path.join(directory, copy), []).append(os.path.join(directory, file))
    return found


def _locked(copy: str, act: Callable[[], bool]) -> bool:
    """What `act` returns while nobody else can have the copy; False if somebody writes it, or it is not ours.

    If it is not there any more, nobody does.
    """
    try:
        lock = os.open(copy, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return act()
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return act()
    except BlockingIOError:
        return False
    finally:
        os.close(lock)


def _remove(files: list[str]) -> bool:
    try:
        for file in files:
            os.unlink(file)
    except OSError:
        return False  # Whoever looks next finds what is left.
    return True


def _flush(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

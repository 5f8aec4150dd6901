"""What lies in the directories of a store: files that nobody needs any more, and doors that stand open."""

from __future__ import annotations

import os
import stat

from inturn.core.layout import DATABASE
from inturn.core.moment import SECOND
from inturn.host import locks, mounts, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# Files of an owner that are younger (µs) may belong to one that is about to lock or to register them.
SETTLED_AFTER = 60 * SECOND

_EVERYBODY_ELSE = stat.S_IRWXG | stat.S_IRWXO


def missing_dirs(directory: str) -> list[str]:
    """Which of the store's directories are gone; somebody must have removed them."""
    return [name for name in paths.DIRECTORIES if not os.path.lexists(os.path.join(directory, name))]


def unwritable(directory: str) -> list[str]:
    """To what of a store nothing can be written: the directory itself, or else those in it."""
    if not os.access(directory, os.W_OK):
        return [directory]
    inside = (os.path.join(directory, name) for name in paths.DIRECTORIES)
    return [place for place in inside if os.path.exists(place) and not os.access(place, os.W_OK)]


def abandoned(directory: str, known: Collection[str], wall: int) -> list[str]:
    """The tokens of owners that are not `known`, and whose files nobody holds; `wall` is the time (µs)."""
    tokens = paths.tokens_of_files(directory)
    return sorted(token for token in tokens.difference(known) if _is_abandoned(directory, token, wall))


def _is_abandoned(directory: str, token: str, wall: int) -> bool:
    lock, fifo = paths.owner_files(directory, token)
    for path in (lock, fifo):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            continue
        # Its age first: a look at the lock could be in the way of whoever is about to take it.
        if wall - found.st_mtime_ns // 1000 < SETTLED_AFTER:
            return False
        if path == lock and locks.probe(path, found.st_dev, found.st_ino) != "free":
            return False
    return True


def logs_by_job(directory: str) -> dict[int, list[str]]:
    """The paths of all logs, by the job that they belong to."""
    found: dict[int, list[str]] = {}
    for path in _files_below(os.path.join(directory, paths.LOGS)):
        job, dot, _ = os.path.basename(path).partition(".")
        if dot and job.isascii() and job.isdecimal():
            found.setdefault(int(job), []).append(path)
    return found


def _files_below(directory: str) -> Iterator[str]:
    for place, _, names in os.walk(directory):
        yield from (os.path.join(place, name) for name in names)


def open_doors(directory: str) -> list[str]:
    """What of a store others may look at: the directory itself, or else what is in it."""
    inside = (paths.LOGS, paths.OWNERS, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm")
    if not _lets_others_in(directory):
        return []
    return [directory, *filter(_lets_others_in, (os.path.join(directory, name) for name in inside))]


def _lets_others_in(path: str) -> bool:
    try:
        return bool(os.lstat(path).st_mode & _EVERYBODY_ELSE)
    except FileNotFoundError:
        return False


def file_system(directory: str) -> str:
    """The type of the file system that a store lies on; '' if the kernel does not tell."""
    try:
        return mounts.file_system(directory, os.lstat(directory).st_dev, mounts.read_mounts())
    except OSError:
        return ""

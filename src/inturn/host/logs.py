"""The files that a run writes: `<stem>.out` and `<stem>.err`, and `<stem>.idx` that tells what came when.

The program writes to its files directly. Their descriptors carry an exclusive lock that every descendant
inherits: as long as one of the locks is held, the run is alive, whatever became of its owner.

The index is a row of records of 24 bytes: wall clock in microseconds, length of `.out`, length of `.err`. Its
only writer is the owner, which looks from time to time how long the files have become. What was written
between two looks has no order; a file that is missing counts as empty.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time

from inturn.errors import InturnError
from inturn.host import descriptors, locks, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from inturn.host.locks import Finding
else:
    from inturn.core.records import NamedTuple

OUT, ERR = SUFFIXES = (".out", ".err")
INDEX = ".idx"
RECORD = 24

# Somebody who asks whether a run is alive holds a shared lock for an instant.
_LOCK_ATTEMPTS = 40
_LOCK_PAUSE_S = 0.005

FileId = tuple[int, int]  # device and inode


class Streams(NamedTuple):
    """Open logs: descriptors of both streams (the same one when merged) and the identity of each file."""

    out: int
    err: int
    ids: tuple[FileId, ...]

    def close(self) -> None:
        """Give up our copies. From then on only the run itself holds the locks."""
        os.close(self.out)
        if self.err != self.out:
            os.close(self.err)


def open_streams(stem: str, merge: bool) -> Streams:
    """Open the logs of a new run for appending, private and locked; with `merge` only `.out`.

    Their directory is made if there is none. Raises OSError that names the file; then nothing is left open,
    nor is an empty file left behind.
    """
    try:
        out, first = _open_locked(stem + OUT)
    except FileNotFoundError:
        _make_place(stem)
        out, first = _open_locked(stem + OUT)
    if merge:
        return Streams(out, out, (first,))
    try:
        err, second = _open_locked(stem + ERR)
    except OSError:
        os.close(out)
        remove_empty(stem)
        raise
    return Streams(out, err, (first, second))


def _make_place(stem: str) -> None:
    """Make the directory of a run's logs, and that of all logs again if somebody has removed it."""
    try:
        paths.create_within(os.path.dirname(stem), lambda place: os.mkdir(place, 0o700))
    except (OSError, InturnError):
        pass  # The next attempt to open a log there says what is wrong.


def alive(stem: str, ids: tuple[FileId, ...] | None) -> Finding:
    """Does anybody hold the lock of these logs? What `host.locks.probe` finds, over all files of a run.

    `ids` are those of `Streams`; None if nobody knows them, which trusts whatever lies there, and then
    "missing" means that no log was ever opened. Held wins over all; "free" needs every file to be the right
    one.
    """
    found: list[Finding] = []
    for number, suffix in enumerate(SUFFIXES if ids is None else SUFFIXES[: len(ids)]):
        known = _id_of(stem + suffix) if ids is None else ids[number]
        if known is not None:
            found.append(locks.probe(stem + suffix, *known))
    verdicts: tuple[Finding, ...] = ("held", "replaced", "missing")
    for verdict in verdicts:
        if verdict in found:
            return verdict
    return "free" if found else "missing"


def file_ids(stem: str) -> tuple[FileId, ...]:
    """Device and inode of the logs that lie there; none if no log was ever opened."""
    found = (_id_of(stem + suffix) for suffix in SUFFIXES)
    return tuple(one for one in found if one is not None)


def files(stem: str) -> tuple[str, ...]:
    """The paths of all files that a run may have."""
    return tuple(stem + suffix for suffix in (*SUFFIXES, INDEX))


def present(stem: str, ids: tuple[FileId, ...]) -> tuple[FileId, ...]:
    """Those of a run's files that still lie there: the number of one that is gone may be another file's."""
    return tuple(
        known for known, suffix in zip(ids, SUFFIXES, strict=False) if _id_of(stem + suffix) == known
    )


def is_gone(stem: str) -> bool:
    """Whether it shows that a log was removed: its directory went with it, or its index was left behind.

    Of most short runs it does not: their logs have no index, and without output they are removed by us.
    """
    if any(os.path.lexists(stem + suffix) for suffix in SUFFIXES):
        return False
    return os.path.lexists(stem + INDEX) or not os.path.isdir(os.path.dirname(stem))


def remove_empty(stem: str) -> None:
    """Remove those logs that are empty and that no process can write to any more; then an orphaned index."""
    kept = False
    for suffix in SUFFIXES:
        try:
            kept = not _remove_if_empty(stem + suffix) or kept
        except FileNotFoundError:
            continue
        except OSError:  # no descriptor left to look at the lock: an empty file more does no harm
            kept = True
    if not kept:
        try:
            os.unlink(stem + INDEX)
        except OSError:
            pass


class Sampler:
    """The owner's view of growing logs: each look that finds them longer adds one record to the index."""

    def __init__(self, stem: str, ids: tuple[FileId, ...]) -> None:
        self._stem = stem
        self._ids = ids
        self._sizes = (0, 0)
        self._index = -1

    def sample(self, wall: int) -> None:
        """Look once (two calls of stat); `wall` is the present time in microseconds.

        A log that was removed or replaced counts as unchanged. Raises nothing: an index that cannot be
        written costs the order of the output, never the run.
        """
        sizes = (self._size(0), self._size(1))
        if sizes == self._sizes:
            return
        try:
            written = self._append(wall, sizes)
        except OSError:
            return
        if written:
            self._sizes = sizes

    def close(self, wall: int) -> None:
        """Look once more and close the index. Without an index none is begun: a reader lacks nothing."""
        if self._index >= 0:
            self.sample(wall)
            os.close(self._index)
            self._index = -1

    def _size(self, number: int) -> int:
        if number >= len(self._ids):
            return 0
        try:
            found = os.stat(self._stem + SUFFIXES[number], follow_symlinks=False)
        except OSError:
            return self._sizes[number]
        if (found.st_dev, found.st_ino) != self._ids[number]:
            return self._sizes[number]
        return found.st_size

    def _append(self, wall: int, sizes: tuple[int, int]) -> bool:
        if self._index < 0:
            self._index = self._open_index()
        length = os.fstat(self._index).st_size
        if length % RECORD:  # torn by a full file system or a crash: all later records would be shifted
            os.ftruncate(self._index, length - length % RECORD)
        record = b"".join(number.to_bytes(8, "little") for number in (wall, *sizes))
        return os.write(self._index, record) == RECORD

    def _open_index(self) -> int:
        fd, _ = _open(self._stem + INDEX)
        if descriptors.is_among_the_last(fd):
            os.close(fd)
            raise OSError("no descriptor is left for an index")
        return fd


def _open(path: str) -> tuple[int, FileId]:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        import errno

        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return fd, _id(found)


def _open_locked(path: str) -> tuple[int, FileId]:
    fd, found = _open(path)
    try:
        _lock(fd)
        return fd, found
    except OSError as error:
        os.close(fd)
        raise OSError(error.errno, f"it cannot be locked ({error.strerror})", path) from error


def _lock(fd: int) -> None:
    for _ in range(_LOCK_ATTEMPTS - 1):
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
    return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _id_of(path: str) -> FileId | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return _id(found)


def _id(found: os.stat_result) -> FileId:
    return found.st_dev, found.st_ino


def _remove_if_empty(path: str) -> bool:
    found = os.lstat(path)
    if found.st_size or locks.probe(path, *_id(found)) != "free":
        return False
    os.unlink(path)
    return True

"""Locks on files as proof of life, in any pid namespace.

What `probe` proves: a held lock, that its owner lives. A free one, that it is dead, and only because the file
is the one that was locked: while any process keeps it open, its inode cannot be given to another file. A file
that is missing or was replaced proves nothing.
"""

from __future__ import annotations

import fcntl
import os
import stat

from inturn.host import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Finding = Literal["held", "free", "missing", "replaced"]


def create(path: str) -> int:
    """Create a file (0600) and lock it exclusively; returns the descriptor.

    The lock is held as long as any copy of the descriptor is open, in whatever process, so a whole tree may
    inherit it. It is close-on-exec here; a dup2 for a child undoes that. Never unlock it: that unlocks it for
    every holder. If the directory is missing from a store, it is made again. Raises FileExistsError if
    anything has that name, OSError if it cannot be created.
    """
    fd = paths.create_within(path, _create)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _create(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def file_id(fd: int) -> tuple[int, int]:
    """Device and inode of an open file: what `probe` has to be given later."""
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def probe(path: str, dev: int, ino: int) -> Finding:
    """Look whether someone holds the lock on the file that had this device and inode. Never waits.

    "replaced" is everything that is not that file: another one, a link, a directory, a pipe, one that we may
    not read any more. Raises OSError if the system has no descriptor to give.
    """
    try:
        # O_NONBLOCK: opening a pipe that took the place of the file must not wait for a writer.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError as error:
        if _is_no_file_of_ours(error):
            return "replaced"
        raise
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or (found.st_dev, found.st_ino) != (dev, ino):
            return "replaced"
        return _try_lock(fd)
    finally:
        os.close(fd)


def _try_lock(fd: int) -> Finding:
    try:
        # Shared, so that two who look at the same moment do not take each other for the owner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "held"
    # Closing alone would not do if another thread forks just now: the child's copy would keep the lock.
    fcntl.flock(fd, fcntl.LOCK_UN)
    return "free"


def _is_no_file_of_ours(error: OSError) -> bool:
    """A symbolic link; a socket or a device without a driver; a file that is not readable as we made it."""
    import errno  # only now: a waiting supervisor has no use for its 140 names

    return isinstance(error, PermissionError) or error.errno in (errno.ELOOP, errno.ENXIO, errno.ENODEV)

"""Empty logs of runs that are over, which become the logs of runs to come.

A short run that prints nothing costs two files, made and removed. Some file systems take long for that: ext4
without a journal passes over everything that was removed in the last minute, one by one, for each file that
it makes. To give files other names costs the same everywhere.

Whoever reads logs by their names, as we do, never sees the output of one run in the log of another: a file
that has content is not taken, nor one of whose run somebody is left, and one that has been taken has left its
name.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from inturn.host.logs import ERR, INDEX, OUT, Streams, remove_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.host.logs import FileId

# More than a worker ends at about the same moment are not worth their names.
_AT_MOST = 64

# As which user we make files. It is asked of two files for each run, and does not change.
_OURSELVES = os.geteuid()


# What is no fault of the file that was tried.
_FOR_ALL = (errno.EEXIST, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class Spares:
    """What may be spare logs, by their stems, of one process. Whether they are shows when they are wanted."""

    def __init__(self) -> None:
        self._stems: list[str] = []

    def offer(self, stem: str) -> None:
        """Keep the logs of a run of which nobody is left, or remove those that are empty.

        Somebody who is left may have opened them by another name (/dev/stdout), which takes no lock.
        """
        if len(self._stems) < _AT_MOST:
            self._stems.append(stem)
        else:
            remove_empty(stem)

    def open(self, stem: str) -> Streams | None:
        """Open spare logs under the names of a new run's, as `logs.open_streams` does; None without any.

        Of what turns out not to be spare, only what is empty is removed. If none could be used for this run,
        through no fault of theirs, they are kept for the next.
        """
        while self._stems:
            try:
                streams = _take(self._stems[-1], stem)
            except OSError as error:
                if _is_for_all(error, stem):
                    return None
                remove_empty(self._stems.pop())
            else:
                self._stems.pop()
                return streams
        return None

    def discard(self) -> None:
        """Remove what has not been used."""
        while self._stems:
            remove_empty(self._stems.pop())


def _take(spare: str, stem: str) -> Streams:
    """Both files under their new names, open and locked.

    Raises OSError if one of them cannot be had; then both have their old names.
    """
    # With an index, something was written, and taken back.
    if _lies_there(spare + INDEX):
        raise OSError(errno.EINVAL, "it is no spare", spare)
    # What shows without a change is looked at first.
    first = _look_at(spare + OUT, stem + OUT)
    second = _look_at(spare + ERR, stem + ERR)
    out = _open_locked(spare + OUT)
    try:
        err = _open_locked(spare + ERR)
        try:
            _rename(spare, stem)
        except OSError:
            os.close(err)
            raise
    except OSError:
        os.close(out)
        raise
    return Streams(out, err, (first, second))


def _look_at(spare: str, path: str) -> FileId:
    """Which file it is. Raises OSError if it is not as new, or `path` is taken: that is somebody else's."""
    found = os.lstat(spare)
    if not _is_like_new(found):
        raise OSError(errno.EINVAL, "it is no spare", spare)
    if _lies_there(path):
        raise FileExistsError(errno.EEXIST, "the name is taken", path)
    return found.st_dev, found.st_ino


def _open_locked(spare: str) -> int:
    """Raises OSError if somebody holds the lock, who has got the file without being of the run."""
    fd = os.open(spare, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _rename(spare: str, stem: str) -> None:
    """Both or none. Raises OSError."""
    os.rename(spare + OUT, stem + OUT)
    try:
        os.rename(spare + ERR, stem + ERR)
    except OSError:
        os.rename(stem + OUT, spare + OUT)
        raise


def _is_for_all(error: OSError, stem: str) -> bool:
    """Whether any spare would meet with this: the name of the new run is taken, or there is no room for it.

    That its directory is yet to be made is asked only now, since it is so once in a thousand jobs.
    """
    if isinstance(error, FileNotFoundError):
        return not os.path.isdir(os.path.dirname(stem))
    return error.errno in _FOR_ALL


def _is_like_new(found: os.stat_result) -> bool:
    """Nobody has written to it, or given it another name, owner or mode: all that would go with it."""
    return (
        found.st_size == 0
        and found.st_mode == stat.S_IFREG | 0o600
        and found.st_nlink == 1
        and found.st_uid == _OURSELVES
    )


def _lies_there(path: str) -> bool:
    """As os.path.lexists, which would raise and catch an exception each time that there is nothing."""
    return os.access(path, os.F_OK, follow_symlinks=False)

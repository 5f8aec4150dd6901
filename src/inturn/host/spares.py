"""Empty logs of runs that are over, which become the logs of runs to come.

A short run that prints nothing costs two files, made and removed. Some file systems take long for that: ext4
without a journal passes over everything that was removed in the last minute, one by one, for each file that
it makes. To give files other names costs the same everywhere.

Whoever reads logs by their names, as we do, never sees the output of one run in the log of another: a file
that has content is not taken, nor one of whose run somebody is left, and one that has been taken has left its
name.
"""

from __future__ import annotations

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

        Of what turns out not to be spare, only what is empty is removed.
        """
        while self._stems:
            spare = self._stems.pop()
            streams = _take(spare, stem)
            if streams is not None:
                return streams
            remove_empty(spare)
        return None

    def discard(self) -> None:
        """Remove what has not been used."""
        while self._stems:
            remove_empty(self._stems.pop())


def _take(spare: str, stem: str) -> Streams | None:
    """Both files under their new names, open and locked; None if one of them cannot be had."""
    # With an index, something was written, and taken back.
    if _lies_there(spare + INDEX):
        return None
    out = -1
    try:
        out, first = _take_one(spare + OUT, stem + OUT)
        err, second = _take_one(spare + ERR, stem + ERR)
    except OSError:  # it was pruned meanwhile, or the new run's directory is yet to be made
        if out >= 0:
            os.close(out)
        return None
    return Streams(out, err, (first, second))


def _take_one(spare: str, path: str) -> tuple[int, FileId]:
    """Raises OSError if the file is not as new, or the name is taken: that one is somebody else's, and stays.

    Somebody who has got the file without being of the run holds its lock.
    """
    found = os.lstat(spare)
    if not _is_like_new(found) or _lies_there(path):
        raise FileExistsError(path)
    fd = os.open(spare, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(spare, path)
    except OSError:
        os.close(fd)
        raise
    return fd, (found.st_dev, found.st_ino)


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

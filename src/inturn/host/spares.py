"""Empty logs of runs that are over, which become the logs of runs to come.

A short run that prints nothing costs two files, made and removed. Some file systems take long for that: ext4
without a journal passes over everything that was removed in the last minute, one by one, for each file that
it makes. To give files other names costs the same everywhere.

Whoever reads logs by their names, as we do, never sees the output of one run in the log of another: a file
that has content is not taken, nor one of whose run somebody is left, and one that has been taken has left its
name.
"""

from __future__ import annotations

import os
import stat

from inturn.host import locks
from inturn.host.logs import INDEX, SUFFIXES, remove_empty

# More than a worker ends at about the same moment are not worth their names.
_AT_MOST = 64

# As which user we make files. It is asked of four files for each run, and does not change.
_OURSELVES = os.geteuid()


class Spares:
    """The spare logs of one process, by their stems."""

    def __init__(self) -> None:
        self._stems: list[str] = []

    def offer(self, stem: str) -> None:
        """Keep the logs of a run of which nobody is left if all are empty and free; else remove empty ones.

        Somebody who is left may have opened them by another name (/dev/stdout), which takes no lock.
        """
        if len(self._stems) < _AT_MOST and _are_spare(stem):
            self._stems.append(stem)
        else:
            remove_empty(stem)

    def become(self, stem: str) -> None:
        """Have spare logs, if there are any, be found empty under the names of a new run's logs."""
        if not self._stems:
            return
        spare = self._stems.pop()
        if not all(_rename(spare + suffix, stem + suffix) for suffix in SUFFIXES):
            remove_empty(spare)

    def discard(self) -> None:
        """Remove what has not been used."""
        while self._stems:
            remove_empty(self._stems.pop())


def _are_spare(stem: str) -> bool:
    # With an index, something was written, and taken back.
    return not os.path.lexists(stem + INDEX) and all(_is_spare(stem + suffix) for suffix in SUFFIXES)


def _is_spare(path: str) -> bool:
    """Whether a log is as it was made, and nobody can write to it: its lock is free."""
    try:
        found = os.lstat(path)
        return _is_like_new(found) and locks.probe(path, found.st_dev, found.st_ino) == "free"
    except OSError:
        return False


def _is_like_new(found: os.stat_result) -> bool:
    """Nobody has written to it, or given it another name, owner or mode: all that would go with it."""
    return (
        found.st_size == 0
        and found.st_mode == stat.S_IFREG | 0o600
        and found.st_nlink == 1
        and found.st_uid == _OURSELVES
    )


def _rename(spare: str, path: str) -> bool:
    """Give an empty file another name; False if it cannot have that, or is not as new any more."""
    try:
        # What has the name already is somebody else's, and stays.
        if not _is_like_new(os.lstat(spare)) or os.path.lexists(path):
            return False
        os.rename(spare, path)
    except OSError:  # it was pruned meanwhile, or the new run's directory is yet to be made
        return False
    return True

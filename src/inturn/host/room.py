"""Whether the file system was full while a run wrote to its logs, so that they lack something.

Nothing of ours stands between a program and its logs, so nobody but the program sees that a write fails. But
a write that fails for want of space changes the time of the file as well: if that has changed since the last
look, and there is no room now, something is likely to be missing.
"""

from __future__ import annotations

import os

from inturn.host.logs import SUFFIXES, FileId


class Room:
    """One run's logs, looked at from time to time."""

    def __init__(self, stem: str, ids: tuple[FileId, ...]) -> None:
        self._stem = stem
        self._ids = ids
        self._changed: tuple[int, ...] = ()
        self._lacked = False

    def lacked(self) -> bool:
        """Look, and say whether at this look or at an earlier one there was no room for what the run wrote.

        At the first look everything counts as just written. Costs one stat a file, and one statvfs if the run
        has written since the last look. Raises nothing: what cannot be seen is not held against the log.
        """
        if not self._lacked:
            files = zip(SUFFIXES, self._ids, strict=False)
            changed = tuple(_changed(self._stem + suffix, known) for suffix, known in files)
            if changed != self._changed:
                self._changed = changed
                self._lacked = _is_full(self._stem)
        return self._lacked

    def has_lacked(self) -> bool:
        """As `lacked`, when the run has ended: where there is room, its files need not be looked at."""
        return self._lacked or (_is_full(self._stem) and self.lacked())


def _changed(path: str, known: FileId) -> int:
    """When the file was last written to (ns); 0 if it is not there any more."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_mtime_ns if (found.st_dev, found.st_ino) == known else 0


def _is_full(stem: str) -> bool:
    """Whether an ordinary user can write nothing more. What is reserved for root does not count as room."""
    try:
        return os.statvfs(os.path.dirname(stem)).f_bavail == 0
    except OSError:
        return False

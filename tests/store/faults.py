"""A file system for SQLite on which the Nth write or sync of a file fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw


class Faults(apsw.VFS):
    """The system's own file system, except that writing can be made to fail.

    `watched` is the kind of file concerned: SQLITE_OPEN_WAL, or SQLITE_OPEN_MAIN_DB, which is written by
    checkpoints only. `remaining` counts the writes and syncs that still succeed, None for all of them, and
    `failed` those that have failed. `full`: the disk is full, so that only writes fail. `once`: one operation
    fails, and what follows succeeds.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.watched = apsw.SQLITE_OPEN_WAL
        self.remaining: int | None = None
        self.failed = 0
        self.full = False
        self.once = False
        super().__init__(name, "unix")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self, name, flags)

    @contextmanager
    def after(self, operations: int) -> Iterator[None]:
        """Let so many operations succeed and all that follow fail."""
        self.remaining = operations
        try:
            yield
        finally:
            self.remaining = None

    def operation(self, kind: int, write: bool) -> None:
        """Count one write or sync; raise what the system's disk error would be if it is one to fail."""
        if not kind & self.watched or (self.full and not write):
            return
        if self.remaining == 0:
            self.failed += 1
            if self.once:
                self.remaining = None
            raise apsw.FullError("the disk is full") if self.full else apsw.IOError("the disk has failed")
        if self.remaining is not None:
            self.remaining -= 1


class _File(apsw.VFSFile):
    def __init__(self, faults: Faults, name: Any, flags: list[int]) -> None:
        self._faults = faults
        self._kind = flags[0]
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._faults.operation(self._kind, write=True)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        # No machine loses its power here, so that nobody has to wait for the disk.
        self._faults.operation(self._kind, write=False)

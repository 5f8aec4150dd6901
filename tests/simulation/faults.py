"""What can go wrong with a simulated process at any statement, and the connection where it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

if TYPE_CHECKING:
    from tests.simulation.process import Process

KINDS = ("crash", "crash", "death", "death", "busy", "full", "unheard", "undone")


class Killed(BaseException):
    """The process is no more: nothing that it would still have done may happen, not even error handling."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.name)
        self.process = process


class Violation(BaseException):
    """An invariant does not hold. No handler of the product may catch it."""


class Fault(NamedTuple):
    """What befalls a process at the `after`-th occasion from now on.

    `crash`: it is killed, at any point; `death`: so too, but between two transactions. `busy`: the write lock
    cannot be had. `full`: a statement finds the disk full. `unheard`: a COMMIT is done, but reported as
    failed; `undone`: it is not done.
    """

    kind: str
    after: int


_OCCASIONS = {
    "crash": ("begin", "statement", "commit", "committed", "engine"),
    "death": ("begin", "committed", "engine"),
    "busy": ("begin",),
    "full": ("statement",),
    "unheard": ("commit",),
    "undone": ("commit",),
}


class Trouble:
    """Counts the occasions of one process, and says when its fault has come."""

    def __init__(self) -> None:
        self.fault: Fault | None = None

    def strikes(self, occasion: str) -> str | None:
        """The kind of fault that happens now, or None."""
        fault = self.fault
        if fault is None or occasion not in _OCCASIONS[fault.kind]:
            return None
        if fault.after:
            self.fault = fault._replace(after=fault.after - 1)
            return None
        self.fault = None
        return fault.kind


class Connection(apsw.Connection):
    """The connection of one simulated process: others may come in between, and things go wrong."""

    def __init__(self, path: str) -> None:
        super().__init__(path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
        self.process: Process
        self.writing = False
        # As in inturn.store.db. Without a busy handler: who finds the file locked here has found a fault.
        self.wal_autocheckpoint(0)
        self.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        super().execute("PRAGMA foreign_keys = ON")
        super().execute("PRAGMA synchronous = OFF")

    def execute(self, sql: str, bindings: Any = None) -> apsw.Cursor:  # type: ignore[override]
        if sql == "ROLLBACK":
            self.writing = False
            return super().execute(sql)
        if sql == "COMMIT" and self.writing:
            return self._commit()
        if sql.startswith("PRAGMA synchronous"):
            return self.cursor()
        self.process.goes_on()
        if sql == "BEGIN IMMEDIATE":
            self._begin()
        elif self.writing and self.process.meets("statement") == "full":
            raise apsw.FullError("the disk is full")
        try:
            return super().execute(sql, bindings)
        except apsw.Error as error:
            raise Violation(f"{type(error).__name__}: {error}, in: {' '.join(sql.split())}") from error

    def _begin(self) -> None:
        self.process.pauses()
        if self.process.meets("begin") == "busy":
            raise apsw.BusyError("database is locked")
        self.writing = True

    def _commit(self) -> apsw.Cursor:
        fault = self.process.meets("commit")
        if fault == "undone":
            raise apsw.IOError("disk I/O error")
        done = super().execute("COMMIT")
        self.writing = False
        self.process.has_committed()
        if fault == "unheard":
            raise apsw.IOError("disk I/O error")
        self.process.meets("committed")
        self.process.pauses()
        return done

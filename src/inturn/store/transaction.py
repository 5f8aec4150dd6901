"""The one place that begins, commits and rolls back, and what SQLite's errors mean to a user."""

from __future__ import annotations

import apsw

from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

WRITE = "BEGIN IMMEDIATE"
READ = "BEGIN"

# How long a process waits for the write lock before it gives up, in seconds.
BUSY_DEADLINE = 30.0


class Stale(Exception):
    """A compare-and-swap found another revision: somebody else was first. Re-read and decide again."""


class CommitUnknown(Exception):
    """COMMIT failed, which is no proof that nothing was committed. Re-read and decide.

    `final`: what is read now stays true. If not, the disk still fails: what cannot be seen now may be there
    when all processes have closed the store and another opens it.
    """

    def __init__(self, message: str, final: bool = True) -> None:
        super().__init__(message)
        self.final = final


class Transaction:
    """A transaction as a context: committed at its end, rolled back by an exception.

    `on_commit` is called once the commit is durable. Errors of SQLite leave as InturnError, a failed COMMIT
    as CommitUnknown; other exceptions pass untouched. One inside another is a fault of the program.
    """

    def __init__(
        self, connection: apsw.Connection, path: str, begin: str, on_commit: Callable[[], None] | None = None
    ) -> None:
        if connection.in_transaction:
            raise RuntimeError("transactions do not nest")
        self._connection = connection
        self._path = path
        self._begin = begin
        self._on_commit = on_commit

    def __enter__(self) -> None:
        try:
            self._connection.execute(self._begin)
        except apsw.Error as error:
            raise translate(error, self._path) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._roll_back()
            if isinstance(error, apsw.Error):
                raise translate(error, self._path) from error
            return
        try:
            self._connection.execute("COMMIT")
        except apsw.Error as failure:
            self._roll_back()
            raise CommitUnknown(translate(failure, self._path).message, self._overwrite()) from failure
        if self._on_commit is not None:
            self._on_commit()

    def _overwrite(self) -> bool:
        """Commit something that changes nothing in the place of what has failed; whether that succeeded.

        If only the sync of the WAL failed, all of the transaction is in the file. No connection sees it, but
        whoever opens the store after a crash, or after all others have gone, would take it for committed.
        """
        if self._begin != WRITE:
            return True
        try:
            self._connection.execute(WRITE)
            version = self._connection.execute("PRAGMA user_version").fetchall()[0][0]
            self._connection.execute(f"PRAGMA user_version = {version}")
            self._connection.execute("COMMIT")
        except apsw.Error:
            self._roll_back()
            return False
        return True

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def translate(error: Exception, path: str) -> InturnError:
    """What an error of SQLite or of the system means to a user."""
    if isinstance(error, apsw.BusyError):
        return InturnError(
            "store_busy",
            f"{path} stayed locked for {BUSY_DEADLINE:.0f} s",
            "try again; see who holds it: fuser " + path,
        )
    if isinstance(error, apsw.NotADBError):
        return InturnError("store_unusable", f"{path} is not a database", "name another directory with --dir")
    if isinstance(error, apsw.CorruptError):
        return InturnError(
            "store_unusable", f"{path} is damaged: {error}", "restore a backup of the directory"
        )
    if isinstance(error, apsw.ReadOnlyError):
        return InturnError(
            "store_unusable", f"{path} cannot be written: {error}", "check its permissions and mount"
        )
    if isinstance(error, apsw.FullError):
        return InturnError(
            "failed", f"{path} cannot be written: the disk is full", "free some space and try again"
        )
    if isinstance(error, (apsw.CantOpenError, OSError)):
        return InturnError("store_unusable", f"{path} cannot be opened: {error}", "check its permissions")
    return InturnError("failed", f"{path}: {error}")

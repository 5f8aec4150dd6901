"""Opening the store, and the one transaction helper.

A connection is opened after a fork, never carried over one. Every process that opens the file uses the SQLite
inside apsw: two SQLite libraries in one process on one file lose data silently.
"""

from __future__ import annotations

import os
from time import monotonic, sleep

import apsw

from inturn.core.layout import DATABASE
from inturn.errors import InturnError
from inturn.store import migrate
from inturn.store.transaction import BUSY_DEADLINE, READ, WRITE, Transaction, translate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from inturn.core.spec import Spec

# The first release without the WAL-reset bug (sqlite.org/wal.html#walresetbug).
OLDEST_SQLITE = 3_051_003

# How long who waits for the write lock sleeps at most between two attempts (s): at first, after some, and for
# each head of a crowd.
_FIRST_WINDOW = 0.0005
_QUICK_WINDOW = 0.003
_QUICK_ATTEMPTS = 10
_WINDOW_PER_HEAD = 0.0003

# Pages in the WAL from which on a commit is followed by a passive checkpoint. A growing WAL slows each fsync.
CHECKPOINT_PAGES = 1000


def open_store(directory: str, ring: Callable[[Iterable[str]], None], create: bool = True) -> Store:
    """Open the store in `directory`, which exists and has been checked, creating its database if asked to.

    `ring` is called after a commit with the tokens of the owners that it concerns.
    Raises InturnError `store_unusable` or `store_busy`.
    """
    if apsw.SQLITE_VERSION_NUMBER < OLDEST_SQLITE:
        raise InturnError(
            "store_unusable",
            f"SQLite {apsw.sqlite_lib_version()} can corrupt a store that several processes write",
            "install apsw 3.51.3 or newer",
        )
    path = os.path.join(directory, DATABASE)
    try:
        if create:
            _create(path)
        no_wal = not os.path.exists(path + "-wal")
        patience = Patience()
        connection = _connect(path, patience)
        try:
            migrate.bring_up_to_date(connection, path)
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            if no_wal:
                # What was refused is left as it was: SQLite removes the -wal and -shm that it has just made.
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            connection.close()
            raise
    except (apsw.Error, OSError) as error:
        raise translate(error, path) from error
    return Store(connection, path, ring, patience)


def _create(path: str) -> None:
    """Make an empty file, if there is none: SQLite would make one that others can read.

    Its -wal and -shm take their mode from it. A file that is there is not opened: closing it would drop the
    locks of every connection that this process has to it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        pass


def _connect(path: str, patience: Patience) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(path, flags=flags)
    # Before the first statement: even a pragma may find the file locked.
    connection.set_busy_handler(patience)
    # Checkpoints are explicit: a fault in an automatic one would look like a failed COMMIT.
    connection.wal_autocheckpoint(0)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    # A file may have come from somewhere: its schema can call nothing that reaches out.
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


class Patience:
    """Sleeps for a random time in a window that grows with the attempts, up to a deadline.

    SQLite's own handler starves: under 32 writers it let one process wait for 4 s. `crowd` is how many may
    want to write at the same time, as far as is known: hundreds that try every few milliseconds would leave
    no processor to the one that has the lock, so all of them together keep to some thousand tries a second.
    """

    def __init__(self) -> None:
        self.crowd = 0
        self._deadline = 0.0

    def __call__(self, attempts: int) -> bool:
        if attempts == 0:
            self._deadline = monotonic() + BUSY_DEADLINE
        elif monotonic() > self._deadline:
            return False
        sleep(self.window(attempts) * (0.2 + 0.8 * os.urandom(1)[0] / 255))
        return True

    def window(self, attempts: int) -> float:
        """How long to sleep at most after so many attempts, in seconds."""
        if attempts <= _QUICK_ATTEMPTS:
            return _FIRST_WINDOW + (_QUICK_WINDOW - _FIRST_WINDOW) * attempts / _QUICK_ATTEMPTS
        grown = _QUICK_WINDOW * 1.3 ** min(attempts - _QUICK_ATTEMPTS, 40)
        return max(_QUICK_WINDOW, min(grown, self.crowd * _WINDOW_PER_HEAD))


def _file_id(path: str) -> tuple[int, int] | None:
    """Device and inode of a file; None if there is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


class Store:
    """A connection to the store of one process."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: str,
        ring: Callable[[Iterable[str]], None],
        patience: Patience,
    ) -> None:
        self.connection = connection
        self._patience = patience
        self.path = path
        self.directory = os.path.dirname(path)
        self._ring = ring
        self._file = _file_id(path)
        # An owner that is cut off from this file says here what is not to be begun any more, by an exception.
        self.before_writing: Callable[[], None] | None = None
        # Jobs with an owner whose gates this connection has moved: if the owner is we ourselves, neither the
        # version nor a hint from somebody else would ever tell us.
        self.stirred: set[int] = set()
        self._to_wake: set[str] = set()
        # Who is to get ready, without haste: see `wake_at_leisure`.
        self._to_rouse: set[str] = set()
        # What this connection need not read or do again: see store.specs and due.promote.
        self.environment: tuple[int, tuple[bytes, ...]] = (0, ())
        self.shared_spec: tuple[tuple[Any, ...], Spec | None] = ((), None)
        self.boot = ""
        # Which owner has last renewed its lease here as it took slots, and when (monotonic µs); and the same
        # of the present transaction, which may yet fail.
        self.leased = (0, 0)
        self.leasing: tuple[int, int] | None = None
        self._wal_pages = 0
        self._synchronous = ""
        connection.set_wal_hook(self._note_wal)

    def execute(self, sql: str, bindings: tuple[Any, ...] = ()) -> apsw.Cursor:
        """Run a statement; inside a transaction if one is open. Errors of SQLite become InturnError."""
        try:
            return self.connection.execute(sql, bindings)
        except apsw.ConstraintError:
            raise  # A fault of the program, not of the store.
        except apsw.Error as error:
            raise translate(error, self.path) from error

    def row(self, sql: str, bindings: tuple[Any, ...] = ()) -> Any:
        """The first row of a query, or None."""
        return self.execute(sql, bindings).fetchone()

    def writing(self, durable: bool = True) -> Transaction:
        """A write transaction; a `durable` one survives a loss of power once it has been committed.

        Raises Stale from the body untouched; errors of SQLite become InturnError, and a failed COMMIT becomes
        CommitUnknown.
        """
        if self.before_writing is not None:
            self.before_writing()
        transaction = Transaction(self.connection, self.path, WRITE, self._committed)
        wanted = "FULL" if durable else "NORMAL"
        if self._synchronous != wanted:
            self.execute(f"PRAGMA synchronous = {wanted}")
            self._synchronous = wanted
        self._to_wake.clear()
        self.leasing = None
        return transaction

    def reading(self) -> Transaction:
        """A read transaction: all its statements see one state of the store."""
        return Transaction(self.connection, self.path, READ)

    def wake(self, tokens: Iterable[str]) -> None:
        """Note owners to be told once the present transaction has been committed."""
        self._to_wake.update(tokens)

    def wake_at_leisure(self, tokens: Iterable[str]) -> None:
        """Note owners to be told, once all is done that is more urgent, that it may soon be their turn.

        `rouse` tells them, which only owners call: who is noted by anybody else looks by itself, and later.
        Should they be told although the transaction has failed, they look in vain.
        """
        self._to_rouse.update(tokens)

    def rouse(self) -> None:
        """Tell those that were noted for it."""
        if self._to_rouse:
            tokens, self._to_rouse = self._to_rouse, set()
            self._ring(tokens)

    def version(self) -> int:
        """A number that changes whenever another connection has committed."""
        return int(self.row("PRAGMA data_version")[0])

    def is_in_place(self) -> bool:
        """Whether the path still leads to the open file: not if the store was removed, moved or replaced.

        SQLite goes on with the file that it has, and nobody else will ever see what is written there.
        """
        try:
            return self._file is not None and _file_id(self.path) == self._file
        except OSError:
            return True  # It cannot be told, which is no reason to give anything up.

    def check_in_place(self) -> None:
        """Raise InturnError `store_unusable` unless `is_in_place`: for those who wait for what comes."""
        if not self.is_in_place():
            raise InturnError(
                "store_unusable",
                f"{self.path} is gone, or another file is in its place",
                "If the store was moved, name the place where it is now with --dir.",
            )

    def expect(self, crowd: int) -> None:
        """Reckon with so many owners that may want to write at the same time."""
        self._patience.crowd = crowd

    def own_changes(self) -> int:
        """A number that changes whenever this connection writes, which `version` does not show."""
        return int(self.connection.total_changes())

    def close(self) -> None:
        """Close the connection; nothing is checkpointed by that."""
        self.connection.close()

    def _committed(self) -> None:
        """After a commit: tell whom it concerns, and keep the WAL short."""
        self.leased = self.leasing or self.leased
        if self._to_wake:
            tokens, self._to_wake = self._to_wake, set()
            self._ring(tokens)
        if self._wal_pages >= CHECKPOINT_PAGES:
            self._wal_pages = 0
            try:
                self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.Error:
                pass  # The transaction is durable already; a later commit checkpoints.

    def _note_wal(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

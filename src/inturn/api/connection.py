"""The connection of a Store: opened when it is needed, used by one thread at a time, never across a fork."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet

from inturn import app
from inturn.errors import unknown_commit
from inturn.host import store_dir, trouble
from inturn.store.transaction import CommitUnknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from inturn.service.context import Context

_log = logging.getLogger("inturn")


class Connection:
    """What calls on the store in `directory` go through.

    Calls of several threads take turns. What waits for long has a connection of its own, and holds nobody up.
    """

    def __init__(self, directory: str | None, config: str | None) -> None:
        self.directory = store_dir.resolve_store(directory or store_dir.default_store_dir(os.environ))
        self.config = None if config is None else os.path.abspath(config)
        self._context: Context | None = None
        self._lock = threading.RLock()
        with _forking:
            _all.add(self)

    @contextmanager
    def use(self, create: bool = False) -> Iterator[Context]:
        """The context, for one call; without `create` its store is None if there is none.

        Raises InturnError `store_unusable`, `store_busy` or `config_invalid`, and `failed` for a commit of
        which nobody knows what became of it, or for files for which there is no room.
        """
        with self._lock:
            try:
                with trouble.explaining(self.directory):
                    yield self._opened(create)
            except CommitUnknown as failure:
                raise unknown_commit(failure) from failure

    @contextmanager
    def separate(self) -> Iterator[Context]:
        """A context with a connection of its own, for what takes long. Raises as `use`."""
        context = app.open_context(self.directory, self.config, False, _log.warning)
        try:
            with trouble.explaining(self.directory):
                yield context
        finally:
            if context.store is not None:
                context.store.close()

    def tend(self, job_ids: Collection[int]) -> None:
        """Take care of these jobs, for which somebody waits, if their owners have died."""
        with self.use() as context:
            app.tend(context, job_ids)

    def close(self) -> None:
        """Let go of the connection; the next call opens another."""
        with self._lock:
            if self._context is not None and self._context.store is not None:
                self._context.store.close()
            self._context = None

    def _opened(self, create: bool) -> Context:
        # A store that was removed and made anew is another one.
        if self._context is None or self._context.store is None or not self._context.store.is_in_place():
            self.close()
            self._context = app.open_context(self.directory, self.config, create, _log.warning)
        return self._context

    def _before_fork(self) -> None:
        self._lock.acquire()
        self.close()

    def _after_fork(self) -> None:
        self._lock.release()


# SQLite forbids to carry a connection over a fork. Moreover a child that is forked in the middle of a
# submission would hold the pipe open whose end the supervisor waits for. So a fork waits for its turn.
_all: WeakSet[Connection] = WeakSet()
_held: list[Connection] = []
_forking = threading.Lock()


def _before_fork() -> None:
    _forking.acquire()
    for connection in list(_all):
        connection._before_fork()
        _held.append(connection)


def _after_fork() -> None:
    while _held:
        _held.pop()._after_fork()
    _forking.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)

"""A connection that asks somebody before each statement: so faults are put exactly where they matter.

apsw's own `exec_trace` is no place for it. To run a statement from there, or to take the trace away, crashes
the interpreter now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import apsw

from inturn.store.db import Store


class Tapped:
    """`connection`, but `ask` is told each statement before it is run, and may raise in its stead."""

    def __init__(self, connection: apsw.Connection, ask: Callable[[str], None] | None = None) -> None:
        self._connection = connection
        self.ask = ask

    def execute(self, sql: str, bindings: Any = None) -> apsw.Cursor:
        if self.ask is not None:
            self.ask(sql)
        return self._connection.execute(sql, bindings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@contextmanager
def tapped(store: Store, ask: Callable[[str], None]) -> Iterator[apsw.Connection]:
    """Have `ask` told all that this store runs; gives the connection below, where nobody listens."""
    below = store.connection
    store.connection = cast("apsw.Connection", Tapped(below, ask))
    try:
        yield below
    finally:
        store.connection = below


def unheard(connection: apsw.Connection) -> None:
    """Make the transaction durable, and report the opposite."""
    connection.execute("COMMIT")
    raise apsw.IOError("disk I/O error")

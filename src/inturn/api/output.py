"""What jobs write, as bytes in memory and line by line."""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING

from inturn.errors import InturnError
from inturn.service.output import STREAMS, Wanted, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inturn.api.connection import Connection


def wanted(stream: str | None, run: int | str | None, lines: int | None, timestamps: bool) -> Wanted:
    """What is to be shown. Raises InturnError `invalid_value` for what is no stream, run or number."""
    if stream is not None and stream not in STREAMS:
        raise InturnError("invalid_value", f"stream: {stream!r} is not one", f"Write {' or '.join(STREAMS)}.")
    if isinstance(run, str) and run != "all":
        raise InturnError("invalid_value", f"run: {run!r} is not one", 'Write its number, or "all".')
    if lines is not None and lines < 0:
        raise InturnError("invalid_value", f"lines: {lines} is below 0")
    number = None if isinstance(run, str) else run
    return Wanted(number, run == "all", stream, lines, timestamps)


def read(connection: Connection, job_id: int, wanted: Wanted) -> bytes:
    """What there is so far. Raises InturnError `not_found`."""
    with connection.separate() as context, open(os.memfd_create("inturn-logs"), "w+b") as memory:
        show(context._replace(notice=_say_nothing), job_id, wanted, memory.fileno())
        memory.seek(0)
        return memory.read()


def follow(connection: Connection, job_id: int, wanted: Wanted) -> Iterator[bytes]:
    """Lines, until the job has ended. Raises InturnError `not_found`.

    A thread writes them; it ends when the iterator is exhausted or closed.
    """
    # Not a pipe: a process that is forked meanwhile would hold its end open.
    ours, theirs = socket.socketpair()
    writer = _Writer(connection, job_id, wanted, theirs)
    writer.start()
    try:
        with ours.makefile("rb") as lines:
            yield from lines
    finally:
        ours.shutdown(socket.SHUT_RDWR)
        ours.close()
        writer.join()
    if writer.failure is not None:
        raise writer.failure


class _Writer(threading.Thread):
    def __init__(self, connection: Connection, job_id: int, wanted: Wanted, out: socket.socket) -> None:
        super().__init__(name=f"inturn-follow-{job_id}", daemon=True)
        self._connection = connection
        self._job_id = job_id
        self._wanted = wanted
        self._out = out
        self.failure: Exception | None = None

    def run(self) -> None:
        from inturn.service.follow import follow

        try:
            with self._connection.separate() as context:
                quiet = context._replace(notice=_say_nothing)
                follow(quiet, self._job_id, self._wanted, self._out.fileno(), self._connection.tend)
        except BrokenPipeError:
            pass  # Nobody reads any more.
        except Exception as problem:
            self.failure = problem
        finally:
            self._out.shutdown(socket.SHUT_RDWR)
            self._out.close()


def _say_nothing(_: str) -> None:
    pass

"""Where the output of runs goes: pieces of log files, written to a descriptor as they are or line by line.

A reader that has closed the pipe is a BrokenPipeError of whatever writes to it.
"""

from __future__ import annotations

import errno
import os

from inturn.core.duration import format_time_utc
from inturn.core.moment import MILLISECOND, SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple, Protocol
else:
    from inturn.core.records import NamedTuple

_BLOCK = 1 << 17  # what fits into the caches of a processor is copied twice as fast as a megabyte
_SENT_AT_ONCE = 1 << 30  # sendfile(2) moves at most 2 GiB

# Not every descriptor takes sendfile: one that was opened for appending does not.
_CANNOT_SEND = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)

# A line that is longer is written in parts.
_LONGEST_LINE = 1 << 20


class Piece(NamedTuple):
    """Bytes `start` to `end` of the log of a run; `wall` (microseconds) is when they were seen."""

    run: int
    path: str
    stream: str
    wall: int
    start: int
    end: int


if TYPE_CHECKING:

    class Sink(Protocol):
        """Takes the output of one run after the other."""

        def write(self, piece: Piece) -> None:
            """Write a piece of the present run."""

        def end_run(self) -> None:
            """Write what was held back, and close the logs of the run."""

        def close(self) -> None:
            """Close the logs, whatever was held back."""


class Files:
    """The log files that are being read, opened once; a file that is gone is an empty one."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def descriptor(self, path: str) -> int | None:
        """The descriptor of a log, or None if it cannot be opened."""
        if path not in self._open:
            try:
                self._open[path] = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                return None
        return self._open[path]

    def blocks(self, piece: Piece) -> Iterator[bytes]:
        """The bytes of a piece, in blocks; fewer if the file has become shorter."""
        source = self.descriptor(piece.path)
        at = piece.start
        while source is not None and at < piece.end:
            block = os.pread(source, min(_BLOCK, piece.end - at), at)
            if not block:
                return
            at += len(block)
            yield block

    def close(self) -> None:
        """Close them all."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()


class Copy:
    """Bytes as they are, moved by the kernel where it can."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._files = Files()
        self._can_send = True

    def write(self, piece: Piece) -> None:
        """Copy a piece."""
        source = self._files.descriptor(piece.path)
        at = piece.start
        while source is not None and self._can_send and at < piece.end:
            try:
                sent = os.sendfile(self._out, source, at, min(piece.end - at, _SENT_AT_ONCE))
            except BlockingIOError:
                _await_room(self._out)
                continue
            except OSError as error:
                if error.errno not in _CANNOT_SEND:
                    raise
                self._can_send = False
                break
            if not sent:
                return
            at += sent
        if at < piece.end:
            for block in self._files.blocks(piece._replace(start=at)):
                write_all(self._out, block)

    def end_run(self) -> None:
        """Close the logs of the run."""
        self.close()

    def close(self) -> None:
        """Close the logs."""
        self._files.close()


class Stamp:
    """Whole lines, each behind the time at which its beginning was seen (UTC).

    What has no newline yet is held back, so that the lines of two streams do not run into each other.
    """

    def __init__(self, out: int) -> None:
        self._out = out
        self._files = Files()
        self._held: dict[str, tuple[bytes, bytes]] = {}

    def write(self, piece: Piece) -> None:
        """Write the lines that are complete with this piece."""
        stamp = _stamp(piece.wall)
        for block in self._files.blocks(piece):
            first_stamp, held = self._held.pop(piece.stream, (stamp, b""))
            lines, newline, rest = (held + block).rpartition(b"\n")
            if newline:
                write_all(self._out, first_stamp + lines.replace(b"\n", b"\n" + stamp) + b"\n")
                first_stamp = stamp
            if len(rest) > _LONGEST_LINE:
                write_all(self._out, first_stamp + rest + b"\n")
            elif rest:
                self._held[piece.stream] = (first_stamp, rest)

    def end_run(self) -> None:
        """Write what was held back, as lines of their own, and close the logs of the run."""
        for first_stamp, rest in self._held.values():
            write_all(self._out, first_stamp + rest + b"\n")
        self._held.clear()
        self.close()

    def close(self) -> None:
        """Close the logs."""
        self._files.close()


def write_all(out: int, data: bytes) -> None:
    """Write all of it, also to a descriptor that does not block."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(out, rest) :]
        except BlockingIOError:
            _await_room(out)


def pause(out: int, timeout_us: int) -> None:
    """Sleep, but no longer than somebody reads from `out`. Raises BrokenPipeError if nobody does."""
    import select

    watcher = select.poll()
    watcher.register(out, 0)  # only what cannot be switched off: error and hang-up
    if watcher.poll(timeout_us // MILLISECOND):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _await_room(out: int) -> None:
    import select

    watcher = select.poll()
    watcher.register(out, select.POLLOUT)
    watcher.poll()


def _stamp(wall: int) -> bytes:
    """To the millisecond and of one width, so that lines stay aligned."""
    text = format_time_utc(wall - wall % SECOND).removesuffix("Z")
    return f"{text}.{wall % SECOND // MILLISECOND:03}Z ".encode()

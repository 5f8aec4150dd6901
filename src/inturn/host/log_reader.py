"""Reading the logs of a run, both streams in the order in which their bytes were seen; see `host.logs`."""

from __future__ import annotations

import os

from inturn.host.logs import INDEX, RECORD, SUFFIXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

STREAMS = ("stdout", "stderr")
_READ_AT_ONCE = 2048 * RECORD


class Segment(NamedTuple):
    """Bytes `start` to `end` of one file (`stdout` or `stderr`), seen at `wall` (microseconds)."""

    wall: int
    stream: str
    start: int
    end: int


class Reader:
    """Tells in which order the bytes of a run's logs were seen; goes on where it stopped, for a live run."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._offset = 0
        self._sound = True
        self._indexed = [0, 0]
        self._told = [0, 0]

    def fresh(self, tail: bool = True) -> Iterator[Segment]:
        """The segments that were not told before, in the order seen; within one look stdout comes first.

        What lies beyond the last look comes at the end, dated by the file's last change; without `tail` it is
        left for the next call, when its place may be known. An index is trusted as far as it makes sense:
        not behind a torn record or one in which a file has become shorter.
        """
        while records := self._read_records():
            ends = self._sizes_now()
            for wall, *sizes in records:
                yield from self._advance(wall, sizes, ends)
        if tail:
            yield from self._tail()

    def _read_records(self) -> list[tuple[int, int, int]]:
        if not self._sound:
            return []
        data = _read_from(self._stem + INDEX, self._offset)
        records = []
        for at in range(0, len(data) - RECORD + 1, RECORD):
            wall, out, err = (int.from_bytes(data[at + n : at + n + 8], "little") for n in (0, 8, 16))
            if out < self._indexed[0] or err < self._indexed[1]:
                self._sound = False
                break
            self._indexed = [out, err]
            records.append((wall, out, err))
        self._offset += len(records) * RECORD
        return records

    def _advance(self, wall: int, sizes: list[int], ends: list[int]) -> Iterator[Segment]:
        for number, stream in enumerate(STREAMS):
            start, end = self._told[number], min(sizes[number], ends[number])
            if start < end:
                self._told[number] = end
                yield Segment(wall, stream, start, end)

    def _tail(self) -> Iterator[Segment]:
        for number, suffix in enumerate(SUFFIXES):
            try:
                found = os.stat(self._stem + suffix)
            except OSError:
                continue
            start, end = self._told[number], found.st_size
            if start < end:
                self._told[number] = end
                yield Segment(found.st_mtime_ns // 1000, STREAMS[number], start, end)

    def _sizes_now(self) -> list[int]:
        return [_size_of(self._stem + suffix) for suffix in SUFFIXES]


def segments(stem: str) -> Iterator[Segment]:
    """All that a run has written so far, in the order seen."""
    return Reader(stem).fresh()


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _read_from(path: str, offset: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(fd, _READ_AT_ONCE, offset)
    finally:
        os.close(fd)

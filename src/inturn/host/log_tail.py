"""The end of a run's logs, at a cost that does not depend on how long they are."""

from __future__ import annotations

import os

from inturn.host.log_reader import STREAMS, Segment
from inturn.host.logs import INDEX, RECORD, SUFFIXES
from inturn.host.sinks import Files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inturn.host.sinks import Piece

RECORDS_AT_ONCE = 512
_BLOCK = 1 << 16


def backwards(stem: str) -> Iterator[Segment]:
    """All that a run has written so far, last segment first: `log_reader.segments` in reverse."""
    ends, dates = [0, 0], [0, 0]
    for number, suffix in enumerate(SUFFIXES):
        try:
            found = os.stat(stem + suffix)
        except OSError:  # an empty log is removed
            continue
        ends[number], dates[number] = found.st_size, found.st_mtime_ns // 1000
    for wall, *sizes in _records_backwards(stem + INDEX):
        yield from _beyond(sizes, ends, dates)
        dates = [wall, wall]
    yield from _beyond([0, 0], ends, dates)


def _beyond(sizes: list[int], ends: list[int], dates: list[int]) -> Iterator[Segment]:
    """What lies between `sizes` and `ends`, which is lowered to them."""
    for number in (1, 0):
        start, end = sizes[number], ends[number]
        if start < end:
            ends[number] = start
            yield Segment(dates[number], STREAMS[number], start, end)


def _records_backwards(path: str) -> Iterator[tuple[int, int, int]]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # nothing was seen between two looks
        return
    try:
        end = os.fstat(fd).st_size // RECORD * RECORD
        while end:
            start = max(0, end - RECORDS_AT_ONCE * RECORD)
            data = os.pread(fd, end - start, start)
            for at in range(len(data) // RECORD * RECORD - RECORD, -1, -RECORD):
                wall, out, err = (int.from_bytes(data[at + n : at + n + 8], "little") for n in (0, 8, 16))
                yield wall, out, err
            end = start
    finally:
        os.close(fd)


def last_lines(pieces: Iterable[Piece], count: int) -> list[Piece]:
    """The last `count` lines of pieces that come from the last to the first; in the order of writing.

    A line goes from one newline to the next in that order, whichever stream they belong to. Reads no more
    than the lines themselves and one block.
    """
    taken: list[Piece] = []
    if count <= 0:
        return taken
    files = Files()
    search = _Search(count)
    try:
        for piece in pieces:
            start = search.begin_of_lines(piece, files)
            taken.append(piece if start is None else piece._replace(start=start))
            if start is not None:
                break
    finally:
        files.close()
    return [piece for piece in reversed(taken) if piece.start < piece.end]


class _Search:
    """Goes backwards past newlines until the one before the wanted lines."""

    def __init__(self, lines: int) -> None:
        self._missing = lines
        self._at_the_end = True

    def begin_of_lines(self, piece: Piece, files: Files) -> int | None:
        """Where the lines begin, if that is within this piece."""
        end = piece.end
        while end > piece.start:
            start = max(piece.start, end - _BLOCK)
            block = b"".join(files.blocks(piece._replace(start=start, end=end)))
            found = self._in_block(block)
            if found is not None:
                return start + found
            end = start
        return None

    def _in_block(self, block: bytes) -> int | None:
        # The newline that ends the last line is not one before it.
        end = len(block) - (self._at_the_end and block.endswith(b"\n"))
        self._at_the_end = False
        newlines = block.count(b"\n", 0, end)
        if newlines < self._missing:
            self._missing -= newlines
            return None
        for _ in range(self._missing):
            end = block.rfind(b"\n", 0, end)
        return end + 1

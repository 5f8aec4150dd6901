from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.core.moment import SECOND
from inturn.host import sinks
from inturn.host.sinks import Piece

WALL = 1_806_195_600 * SECOND + 250_999
STAMP = b"2027-03-28T01:00:00.250Z "


class Pipe:
    """The reading end of what a sink writes to."""

    def __init__(self) -> None:
        self.reader, self.out = os.pipe()

    def take(self) -> bytes:
        """Everything, once nobody writes any more."""
        os.close(self.out)
        self.out = -1
        with open(self.reader, "rb") as file:
            self.reader = -1
            return file.read()

    def close(self) -> None:
        for fd in (self.reader, self.out):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


def piece(path: Path, start: int, end: int, wall: int = WALL) -> Piece:
    return Piece(1, str(path), path.suffix, wall, start, end)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.out"
    path.write_bytes(b"abc\xff\0def\n")
    return path


# --- as they are


def test_bytes_are_copied_as_they_are(log: Path, pipe: Pipe) -> None:
    copy = sinks.Copy(pipe.out)
    copy.write(piece(log, 0, 9))
    copy.write(piece(log, 2, 5))
    copy.end_run()
    assert pipe.take() == b"abc\xff\0def\nc\xff\0"


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_WRONLY | os.O_APPEND])
def test_a_large_log_is_copied_to_any_file(tmp_path: Path, flags: int) -> None:
    content = os.urandom(3_000_001)
    (tmp_path / "run.out").write_bytes(content)
    out = os.open(tmp_path / "copy", flags | os.O_CREAT)
    copy = sinks.Copy(out)
    copy.write(piece(tmp_path / "run.out", 0, len(content)))
    copy.end_run()
    os.close(out)
    assert (tmp_path / "copy").read_bytes() == content


def test_a_log_that_is_gone_or_shorter_than_thought_is_no_accident(log: Path, pipe: Pipe) -> None:
    for sink in (sinks.Copy(pipe.out), sinks.Stamp(pipe.out)):
        sink.write(piece(log.with_name("gone.out"), 0, 9))
        sink.write(piece(log, 5, 900))
        sink.end_run()
    assert pipe.take() == b"def\n" + STAMP + b"def\n"


def test_a_link_in_place_of_a_log_is_not_followed(log: Path, pipe: Pipe) -> None:
    (log.parent / "link.out").symlink_to(log)
    copy = sinks.Copy(pipe.out)
    copy.write(piece(log.parent / "link.out", 0, 9))
    copy.end_run()
    assert pipe.take() == b""


@pytest.mark.parametrize("kind", [sinks.Copy, sinks.Stamp])
def test_a_slow_reader_of_a_pipe_that_does_not_block_gets_everything(
    tmp_path: Path, pipe: Pipe, kind: type[sinks.Copy | sinks.Stamp]
) -> None:
    content = b"x" * 999_999 + b"\n"
    (tmp_path / "run.out").write_bytes(content)
    os.set_blocking(pipe.out, False)
    taken: list[bytes] = []

    def read() -> None:
        with open(pipe.reader, "rb", closefd=False) as file:
            taken.append(file.read())

    reader = threading.Thread(target=read)
    reader.start()
    sink = kind(pipe.out)
    sink.write(piece(tmp_path / "run.out", 0, len(content)))
    sink.end_run()
    os.close(pipe.out)
    pipe.out = -1
    reader.join()
    assert b"".join(taken).endswith(content)


@pytest.mark.parametrize("kind", [sinks.Copy, sinks.Stamp])
def test_a_reader_that_has_gone_is_a_broken_pipe(
    log: Path, pipe: Pipe, kind: type[sinks.Copy | sinks.Stamp]
) -> None:
    os.close(pipe.reader)
    pipe.reader = -1
    sink = kind(pipe.out)
    with pytest.raises(BrokenPipeError):
        sink.write(piece(log, 0, 9))
    sink.close()


# --- with times


def test_each_line_stands_behind_its_time(tmp_path: Path, pipe: Pipe) -> None:
    log = tmp_path / "run.out"
    log.write_bytes(b"one\n\ntwo\n")
    stamp = sinks.Stamp(pipe.out)
    stamp.write(piece(log, 0, 9))
    stamp.end_run()
    assert pipe.take() == STAMP + b"one\n" + STAMP + b"\n" + STAMP + b"two\n"


def test_the_lines_of_two_streams_do_not_run_into_each_other(tmp_path: Path, pipe: Pipe) -> None:
    out, err = tmp_path / "run.out", tmp_path / "run.err"
    out.write_bytes(b"begin end\nnext")
    err.write_bytes(b"warning\n")
    stamp = sinks.Stamp(pipe.out)
    stamp.write(piece(out, 0, 6))
    stamp.write(piece(err, 0, 8, WALL + SECOND))
    stamp.write(piece(out, 6, 14, WALL + 2 * SECOND))
    stamp.end_run()
    assert pipe.take().splitlines() == [
        b"2027-03-28T01:00:01.250Z warning",
        STAMP + b"begin end",
        b"2027-03-28T01:00:02.250Z next",
    ]


def test_a_line_without_an_end_is_written_in_parts(tmp_path: Path, pipe: Pipe) -> None:
    log = tmp_path / "run.out"
    log.write_bytes(b"x" * 3_000_000)
    out = os.open(tmp_path / "copy", os.O_WRONLY | os.O_CREAT)
    stamp = sinks.Stamp(out)
    stamp.write(piece(log, 0, 3_000_000))
    before_the_end = (tmp_path / "copy").stat().st_size
    stamp.end_run()
    os.close(out)
    assert before_the_end > 1_000_000
    assert (tmp_path / "copy").read_bytes().count(b"x") == 3_000_000


# --- asleep


def test_a_pause_ends_when_the_reader_goes_away(pipe: Pipe) -> None:
    sinks.pause(pipe.out, 1000)
    os.close(pipe.reader)
    pipe.reader = -1
    with pytest.raises(BrokenPipeError):
        sinks.pause(pipe.out, 60 * SECOND)


def test_a_pause_in_front_of_a_file_lasts_its_time(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        before = time.monotonic_ns()
        sinks.pause(file.fileno(), 1000)
        assert time.monotonic_ns() - before >= 1_000_000

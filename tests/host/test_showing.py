"""A growing file is shown as far as its reader takes it: that holds nobody up, and a refusal ends nobody."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inturn.host.showing import Showing

MOMENT = 1_000  # µs
LONG = 60_000_000

Pipe = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """The ends of a pipe that holds 4 KiB; what is still open of it at the end is closed."""
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    numbers = [os.fstat(end).st_ino for end in ends]
    yield ends
    for end, number in zip(ends, numbers, strict=True):
        try:
            if os.fstat(end).st_ino == number:
                os.close(end)
        except OSError:
            pass


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "1.1.out"


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as log:
        log.write(data)


def patterned(length: int) -> bytes:
    """Bytes of which no piece can be left out, doubled or misplaced unnoticed."""
    return b"".join(b"%07d\n" % number for number in range(length // 8))


def test_what_was_shown_is_not_shown_again(pipe: Pipe, file: Path) -> None:
    showing = Showing(pipe[1])
    for piece in (b"one", b"two\xff"):
        append(file, piece)
        assert showing.show(str(file), LONG)
        assert showing.show(str(file), LONG)
        assert os.read(pipe[0], 4096) == piece


def test_another_file_is_shown_from_its_beginning(pipe: Pipe, file: Path) -> None:
    showing = Showing(pipe[1])
    for name in ("1.1.out", "1.2.out"):
        append(file.with_name(name), name.encode())
        assert showing.show(str(file.with_name(name)), LONG)
        assert os.read(pipe[0], 4096) == name.encode()


@pytest.mark.parametrize("blocking", [True, False])
def test_a_reader_that_dawdles_gets_every_byte_once(pipe: Pipe, file: Path, blocking: bool) -> None:
    os.set_blocking(pipe[1], blocking)
    whole = patterned(100_000)
    append(file, whole)
    showing = Showing(pipe[1])
    got = b""
    while not showing.show(str(file), MOMENT):
        # Less than there is, and never as much as a page.
        got += os.read(pipe[0], 1000)
    os.close(pipe[1])
    while data := os.read(pipe[0], 4096):
        got += data
    assert got == whole
    assert showing.refusal is None


@pytest.mark.parametrize("blocking", [True, False])
def test_a_reader_that_takes_nothing_does_not_hold_us_up(pipe: Pipe, file: Path, blocking: bool) -> None:
    os.set_blocking(pipe[1], blocking)
    append(file, patterned(10_000))
    showing = Showing(pipe[1])
    assert [showing.show(str(file), MOMENT) for _ in range(3)] == [False] * 3
    assert showing.refusal is None


def test_a_file_that_has_always_more_does_not_keep_us(file: Path) -> None:
    file.touch()
    os.truncate(file, 1 << 40)
    with open("/dev/null", "wb") as nowhere:
        assert not Showing(nowhere.fileno()).show(str(file), MOMENT)


def without_reader(pipe: Pipe) -> int:
    os.close(pipe[0])
    return pipe[1]


def without_room(pipe: Pipe) -> int:
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, pipe[1])
    os.close(full)
    return pipe[1]


def closed(pipe: Pipe) -> int:
    os.close(pipe[1])
    return pipe[1]


def only_to_be_read(pipe: Pipe) -> int:
    return pipe[0]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (without_reader, errno.EPIPE),
        (without_room, errno.ENOSPC),
        (closed, errno.EBADF),
        (only_to_be_read, errno.EBADF),
    ],
)
def test_a_refusal_is_noted_and_ends_the_showing(
    pipe: Pipe, file: Path, target: Callable[[Pipe], int], code: int
) -> None:
    showing = Showing(target(pipe))
    answers = []
    for data in (b"", patterned(10_000), patterned(10_000)):
        append(file, data)
        assert showing.show(str(file), LONG)
        answers.append(showing.refusal and showing.refusal.errno)
    # Where nothing is to be shown, nothing is refused.
    assert answers == [None, code, code]


def a_link(file: Path) -> None:
    file.with_name("elsewhere").write_bytes(b"theirs")
    file.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "lay",
    [lambda file: None, a_link, os.mkfifo, os.mkdir],
    ids=["nothing", "a link", "a pipe", "a directory"],
)
def test_whatever_lies_there_instead_of_a_file_is_not_shown(
    pipe: Pipe, file: Path, lay: Callable[[Path], None]
) -> None:
    lay(file)
    showing = Showing(pipe[1])
    assert showing.show(str(file), LONG)
    os.close(pipe[1])
    assert os.read(pipe[0], 4096) == b""
    assert showing.refusal is None


def test_a_file_that_is_cut_off_is_shown_no_further(pipe: Pipe, file: Path) -> None:
    append(file, b"long")
    showing = Showing(pipe[1])
    assert showing.show(str(file), LONG)
    os.truncate(file, 1)
    assert showing.show(str(file), LONG)
    assert os.read(pipe[0], 4096) == b"long"

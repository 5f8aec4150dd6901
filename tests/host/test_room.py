from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.host import logs
from inturn.host.logs import Streams
from inturn.host.room import Room


class Blocks:
    """Stands for the file system: how many blocks it has left, and how often it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 1000
        self.asked = 0
        real = os.statvfs

        def statvfs(path: str) -> os.statvfs_result:
            self.asked += 1
            values = list(real(path))
            values[4] = self.left  # f_bavail
            return os.statvfs_result(values)

        monkeypatch.setattr(os, "statvfs", statvfs)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> Blocks:
    return Blocks(monkeypatch)


@pytest.fixture
def stem(tmp_path: Path) -> str:
    return str(tmp_path / "7.1")


@pytest.fixture
def streams(stem: str) -> Iterator[Streams]:
    opened = logs.open_streams(stem, merge=False)
    yield opened
    opened.close()


def write(fd: int) -> None:
    """Write, and let that show: the clock of a file system ticks in milliseconds."""
    before = os.fstat(fd).st_mtime_ns
    while os.fstat(fd).st_mtime_ns == before:
        os.write(fd, b"x")


def test_a_run_that_writes_while_there_is_room_lacks_nothing(
    blocks: Blocks, stem: str, streams: Streams
) -> None:
    room = Room(stem, streams.ids)
    assert not room.lacked()
    write(streams.out)
    assert not room.lacked()


@pytest.mark.parametrize("stream", ["out", "err"])
def test_a_run_that_writes_while_there_is_no_room_may_lack_something(
    blocks: Blocks, stem: str, streams: Streams, stream: str
) -> None:
    room = Room(stem, streams.ids)
    assert not room.lacked()
    write(getattr(streams, stream))
    blocks.left = 0
    assert room.lacked()


def test_what_was_lacking_once_is_lacking_for_ever(blocks: Blocks, stem: str, streams: Streams) -> None:
    room = Room(stem, streams.ids)
    blocks.left = 0
    assert room.lacked()
    blocks.left = 1000
    write(streams.out)
    assert room.lacked()


def test_a_run_that_is_silent_while_there_is_no_room_lacks_nothing(
    blocks: Blocks, stem: str, streams: Streams
) -> None:
    room = Room(stem, streams.ids)
    assert not room.lacked()
    asked = blocks.asked
    blocks.left = 0
    assert not room.lacked()
    assert blocks.asked == asked, "nobody asks as long as nothing is written"


def test_a_log_that_is_gone_or_another_is_none_of_the_run(
    blocks: Blocks, stem: str, streams: Streams
) -> None:
    room = Room(stem, streams.ids)
    os.unlink(stem + ".out")
    os.unlink(stem + ".err")
    assert not room.lacked()
    blocks.left = 0
    Path(stem + ".out").write_text("somebody else's")
    assert not room.lacked()


def test_a_file_system_that_does_not_tell_is_not_full(
    monkeypatch: pytest.MonkeyPatch, stem: str, streams: Streams
) -> None:
    def refused(path: str) -> os.statvfs_result:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "statvfs", refused)
    assert not Room(stem, streams.ids).lacked()


def test_after_the_end_the_files_are_asked_for_only_where_there_is_no_room(
    blocks: Blocks, stem: str, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(stem, streams.ids)
    with monkeypatch.context() as blind:
        blind.delattr(os, "lstat")
        assert not room.has_lacked()
    blocks.left = 0
    assert room.has_lacked()
    blocks.left = 1000
    assert room.has_lacked()


def test_a_run_that_has_not_written_since_the_disk_filled_up_lacks_nothing_at_its_end(
    blocks: Blocks, stem: str, streams: Streams
) -> None:
    room = Room(stem, streams.ids)
    write(streams.out)
    assert not room.lacked()
    blocks.left = 0
    assert not room.has_lacked()

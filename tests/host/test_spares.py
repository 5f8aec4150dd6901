"""Empty logs of one run become those of the next; what somebody has written, or may yet write, stays."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from inturn.host import logs
from inturn.host.spares import Spares


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "logs").mkdir()
    return str(tmp_path / "logs")


def over(stem: str, out: bytes = b"") -> tuple[tuple[int, int], ...]:
    """Leave the logs of a run that is over; returns which files they are."""
    streams = logs.open_streams(stem, merge=False)
    os.write(streams.out, out)
    streams.close()
    return streams.ids


def offered(stem: str) -> Spares:
    """Spares with the logs of a run that has printed nothing."""
    over(stem)
    spares = Spares()
    spares.offer(stem)
    return spares


def become(spares: Spares, stem: str) -> tuple[tuple[int, int], ...] | None:
    """Begin and end a run with spare logs; returns which files they are, None if there were none."""
    streams = spares.open(stem)
    if streams is None:
        return None
    streams.close()
    return streams.ids


def names(place: str) -> list[str]:
    return sorted(os.listdir(place))


def test_empty_logs_become_those_of_the_next_run(place: str) -> None:
    spares = Spares()
    files = over(place + "/1.1")
    spares.offer(place + "/1.1")
    assert become(spares, place + "/2.1") == files == logs.file_ids(place + "/2.1")
    assert names(place) == ["2.1.err", "2.1.out"]


def test_the_next_run_has_them_like_new_ones(place: str) -> None:
    spares = Spares()
    files = over(place + "/1.1")
    spares.offer(place + "/1.1")
    streams = spares.open(place + "/2.1")
    assert streams is not None
    assert streams.ids == files
    os.write(streams.out, b"mine")
    assert logs.alive(place + "/2.1", streams.ids) == "held"
    streams.close()
    assert Path(place, "2.1.out").read_bytes() == b"mine"


def test_logs_with_content_stay_under_their_name(place: str) -> None:
    spares = Spares()
    over(place + "/1.1", b"output")
    spares.offer(place + "/1.1")
    assert become(spares, place + "/2.1") is None
    assert names(place) == ["1.1.out"]
    assert Path(place, "1.1.out").read_bytes() == b"output"


def test_logs_that_somebody_may_still_write_to_stay_under_their_name(place: str) -> None:
    spares = Spares()
    streams = logs.open_streams(place + "/1.1", merge=False)
    os.close(streams.err)
    spares.offer(place + "/1.1")
    assert become(spares, place + "/2.1") is None
    assert names(place) == ["1.1.out"]
    os.write(streams.out, b"late")
    os.close(streams.out)
    assert Path(place, "1.1.out").read_bytes() == b"late"


def test_logs_with_an_index_are_no_spare_though_what_was_written_was_taken_back(place: str) -> None:
    spares = Spares()
    over(place + "/1.1")
    Path(place, "1.1.idx").write_bytes(b"\0" * logs.RECORD)
    spares.offer(place + "/1.1")
    become(spares, place + "/2.1")
    assert names(place) == []


def test_spare_logs_are_found_behind_others_that_are_none(place: str) -> None:
    spares = offered(place + "/1.1")
    over(place + "/2.1", b"output")
    spares.offer(place + "/2.1")
    assert become(spares, place + "/3.1") is not None
    assert names(place) == ["2.1.out", "3.1.err", "3.1.out"]


def rename_too(path: str) -> None:
    os.link(path, path + ".link")


@pytest.mark.parametrize(
    "meddle",
    [lambda path: os.chmod(path, 0o400), lambda path: os.chmod(path, 0o666), rename_too],
    ids=["cannot be opened again", "is open to all", "has another name"],
)
@pytest.mark.parametrize("when", ["while it runs", "afterwards"])
def test_logs_that_a_job_has_meddled_with_are_no_spare(
    place: str, meddle: Callable[[str], None], when: str
) -> None:
    spares = Spares()
    over(place + "/1.1")
    if when == "while it runs":
        meddle(place + "/1.1.out")
    spares.offer(place + "/1.1")
    if when == "afterwards":
        meddle(place + "/1.1.out")
    become(spares, place + "/2.1")
    assert not os.path.lexists(place + "/2.1.out")


def test_what_was_written_to_spare_logs_stays_under_their_name(place: str) -> None:
    spares = offered(place + "/1.1")
    Path(place, "1.1.out").write_bytes(b"by hand")
    become(spares, place + "/2.1")
    assert Path(place, "1.1.out").read_bytes() == b"by hand"
    assert not os.path.exists(place + "/2.1.out")


def test_a_name_that_is_taken_is_left_alone(place: str) -> None:
    spares = offered(place + "/1.1")
    Path(place, "2.1.out").write_bytes(b"theirs")
    os.symlink("/nowhere", place + "/2.1.err")
    become(spares, place + "/2.1")
    spares.discard()
    assert Path(place, "2.1.out").read_bytes() == b"theirs"
    assert names(place) == ["2.1.err", "2.1.out"]


def test_a_link_in_the_place_of_a_log_is_no_spare(place: str) -> None:
    spares = Spares()
    over(place + "/1.1")
    Path(place, "elsewhere").touch()
    os.unlink(place + "/1.1.out")
    os.symlink(place + "/elsewhere", place + "/1.1.out")
    spares.offer(place + "/1.1")
    become(spares, place + "/2.1")
    assert not os.path.lexists(place + "/2.1.out")


def test_spare_logs_that_were_pruned_are_not_missed(place: str) -> None:
    spares = offered(place + "/1.1")
    for name in names(place):
        os.unlink(f"{place}/{name}")
    become(spares, place + "/2.1")
    spares.discard()
    assert names(place) == []


# --- one that cannot be used, among others


def write(path: str) -> None:
    Path(path).write_bytes(b"output")


def put_a_link_there(path: str) -> None:
    os.unlink(path)
    os.symlink("nowhere", path)


def close_to_ourselves(path: str) -> None:
    os.chmod(path, 0o400)


def several(place: str, *numbers: int) -> Spares:
    """Spares with the logs of runs that have printed nothing; the last is the first to be tried."""
    spares = Spares()
    for number in numbers:
        over(f"{place}/{number}.1")
        spares.offer(f"{place}/{number}.1")
    return spares


def descriptors() -> list[str]:
    return os.listdir("/proc/self/fd")


def assert_the_others_are_used(place: str, spares: Spares, others: int) -> None:
    """As many runs as there are other spares get one, whole, and the next run finds nothing in its place."""
    before = descriptors()
    spare = {os.lstat(f"{place}/{name}").st_ino for name in names(place)}
    for number in range(100, 100 + others):
        files = become(spares, f"{place}/{number}.1")
        assert files == logs.file_ids(f"{place}/{number}.1")
        assert files is not None
        assert {inode for _, inode in files} < spare
    assert become(spares, f"{place}/999.1") is None
    assert not [name for name in names(place) if name.startswith("999.")]
    assert descriptors() == before


@pytest.mark.parametrize("suffix", logs.SUFFIXES)
@pytest.mark.parametrize("spoil", [write, os.unlink, put_a_link_there, close_to_ourselves, rename_too])
def test_one_that_is_spoilt_spoils_no_other(place: str, spoil: Callable[[str], None], suffix: str) -> None:
    spares = several(place, 1, 2, 3)
    spoil(f"{place}/3.1{suffix}")
    assert_the_others_are_used(place, spares, 2)


@pytest.mark.parametrize("suffix", logs.SUFFIXES)
def test_one_that_somebody_holds_spoils_no_other(place: str, suffix: str) -> None:
    spares = several(place, 1, 2, 3)
    held = os.open(f"{place}/3.1{suffix}", os.O_WRONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert_the_others_are_used(place, spares, 2)
    assert f"3.1{suffix}" in names(place)
    os.close(held)


@pytest.mark.parametrize("suffix", logs.SUFFIXES)
def test_one_that_cannot_be_renamed_spoils_no_other(
    place: str, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    spares = several(place, 1, 2, 3)
    rename = os.rename

    def refuse(source: str, target: str) -> None:
        if source == f"{place}/3.1{suffix}":
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), source)
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    assert_the_others_are_used(place, spares, 2)
    assert not [name for name in names(place) if name.startswith("3.1")]


def test_what_was_written_at_the_last_moment_stays_under_its_name(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spares = offered(place + "/1.1")

    def refuse(source: str, target: str) -> None:
        if source.endswith(".err"):
            Path(place, "2.1.out").write_bytes(b"late")
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        rename(source, target)

    rename = os.rename
    monkeypatch.setattr(os, "rename", refuse)
    assert become(spares, place + "/2.1") is None
    assert names(place) == ["1.1.out"]
    assert Path(place, "1.1.out").read_bytes() == b"late"


# --- a run that can use none of them


@pytest.mark.parametrize("suffix", logs.SUFFIXES)
def test_where_a_name_is_taken_they_are_kept_for_the_next_run(place: str, suffix: str) -> None:
    spares = several(place, 1, 2)
    Path(place, "50.1" + suffix).write_bytes(b"theirs")
    assert become(spares, place + "/50.1") is None
    assert Path(place, "50.1" + suffix).read_bytes() == b"theirs"
    assert_the_others_are_used(place, spares, 2)


def test_where_the_next_directory_is_missing_they_are_kept_for_the_next_run(place: str) -> None:
    spares = several(place, 1, 2)
    assert become(spares, place + "/gone/1000.1") is None
    assert not Path(place, "gone").exists()
    assert_the_others_are_used(place, spares, 2)


@pytest.mark.parametrize("left", [0, 1])
def test_where_no_descriptor_is_left_they_are_kept_for_the_next_run(place: str, left: int) -> None:
    spares = several(place, 1, 2)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + left, limits[1]))
    try:
        assert become(spares, place + "/50.1") is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert_the_others_are_used(place, spares, 2)


def test_what_is_not_used_is_removed(place: str) -> None:
    spares = Spares()
    for number in range(100):
        over(f"{place}/{number}.1")
        spares.offer(f"{place}/{number}.1")
    assert 0 < len(names(place)) < 200
    spares.discard()
    assert names(place) == []

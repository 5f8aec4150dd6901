from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.host import log_reader, logs
from inturn.host.log_reader import Reader, Segment
from inturn.host.logs import Sampler, Streams

RECORD = 24


@pytest.fixture
def stem(tmp_path: Path) -> str:
    return str(tmp_path / "7.1")


@pytest.fixture
def streams(stem: str) -> Iterator[Streams]:
    opened = logs.open_streams(stem, merge=False)
    yield opened
    opened.close()


def write(streams: Streams, out: bytes = b"", err: bytes = b"") -> None:
    os.write(streams.out, out)
    os.write(streams.err, err)


def record(wall: int, out: int, err: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in (wall, out, err))


def content(stem: str, out: int, err: int, index: bytes) -> None:
    Path(stem + ".out").write_bytes(b"o" * out)
    Path(stem + ".err").write_bytes(b"e" * err)
    Path(stem + ".idx").write_bytes(index)


def told(stem: str) -> list[tuple[str, int, int]]:
    return [segment[1:] for segment in log_reader.segments(stem)]


# --- opening


def test_logs_are_private_append_only_and_not_inherited_by_accident(stem: str) -> None:
    before = os.umask(0)
    try:
        opened = logs.open_streams(stem, merge=False)
    finally:
        os.umask(before)
    for fd in opened[:2]:
        assert os.fstat(fd).st_mode & 0o777 == 0o600
        assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND
        assert not os.get_inheritable(fd)
    opened.close()


def test_merged_streams_share_one_file_and_one_descriptor(stem: str) -> None:
    opened = logs.open_streams(stem, merge=True)
    assert opened.out == opened.err
    assert len(opened.ids) == 1
    opened.close()
    assert not os.path.exists(stem + ".err")


def test_a_link_in_the_place_of_a_log_is_not_followed(stem: str, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    os.symlink(tmp_path / "precious", stem + ".err")
    with pytest.raises(OSError, match=r"\.err") as failure:
        logs.open_streams(stem, merge=False)
    assert failure.value.errno == errno.ELOOP
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_failure_leaves_neither_a_descriptor_nor_an_empty_file(stem: str) -> None:
    os.mkdir(stem + ".err")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(IsADirectoryError):
        logs.open_streams(stem, merge=False)
    assert len(os.listdir("/proc/self/fd")) == before
    assert not os.path.exists(stem + ".out")


def test_the_logs_of_a_run_that_is_alive_are_not_given_to_another(stem: str, streams: Streams) -> None:
    with pytest.raises(BlockingIOError) as failure:
        logs.open_streams(stem, merge=False)
    assert failure.value.filename == stem + ".out"


def test_whoever_looks_at_the_lock_does_not_stop_a_run_from_starting(stem: str) -> None:
    Path(stem + ".out").touch()
    looking = os.open(stem + ".out", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    done = threading.Timer(0.02, lambda: os.close(looking))
    done.start()
    opened = logs.open_streams(stem, merge=False)
    done.join()
    opened.close()


# --- is it alive?


def test_one_held_lock_is_enough_to_be_alive(stem: str, streams: Streams) -> None:
    assert logs.alive(stem, streams.ids) == "held"
    spare = os.dup(streams.err)
    streams.close()
    assert logs.alive(stem, streams.ids) == "held"
    os.close(spare)
    assert logs.alive(stem, streams.ids) == "free"
    os.dup2(os.open(os.devnull, os.O_RDONLY), streams.out)
    os.dup2(streams.out, streams.err)


def test_logs_without_a_holder_are_free(stem: str) -> None:
    opened = logs.open_streams(stem, merge=False)
    opened.close()
    assert logs.alive(stem, opened.ids) == "free"


def test_a_merged_log_is_judged_alone(stem: str) -> None:
    opened = logs.open_streams(stem, merge=True)
    assert logs.alive(stem, opened.ids) == "held"
    opened.close()
    assert logs.alive(stem, opened.ids) == "free"


@pytest.mark.parametrize("suffix", logs.SUFFIXES)
def test_a_removed_log_proves_nothing(stem: str, suffix: str) -> None:
    opened = logs.open_streams(stem, merge=False)
    opened.close()
    os.unlink(stem + suffix)
    assert logs.alive(stem, opened.ids) == "missing"


@pytest.mark.parametrize("suffix", logs.SUFFIXES)
def test_a_replaced_log_proves_nothing(stem: str, suffix: str) -> None:
    opened = logs.open_streams(stem, merge=False)
    opened.close()
    Path(stem + ".new").touch()
    os.replace(stem + ".new", stem + suffix)
    assert logs.alive(stem, opened.ids) == "replaced"


def test_unknown_logs_are_judged_by_what_is_there(stem: str) -> None:
    assert logs.alive(stem, None) == "missing"
    opened = logs.open_streams(stem, merge=False)
    assert logs.alive(stem, None) == "held"
    opened.close()
    assert logs.alive(stem, None) == "free"


# --- removing what is empty


def test_only_empty_logs_without_a_writer_are_removed(stem: str, streams: Streams) -> None:
    logs.remove_empty(stem)
    assert os.path.exists(stem + ".out")


def test_a_log_with_content_is_kept_and_the_empty_one_beside_it_is_removed(stem: str) -> None:
    opened = logs.open_streams(stem, merge=False)
    write(opened, out=b"kept")
    opened.close()
    logs.remove_empty(stem)
    assert Path(stem + ".out").read_bytes() == b"kept"
    assert not os.path.exists(stem + ".err")


def test_an_index_of_removed_logs_goes_with_them(stem: str) -> None:
    content(stem, 0, 0, record(1, 5, 0))
    logs.remove_empty(stem)
    assert not os.path.exists(stem + ".idx")


def test_removing_what_is_not_there_is_no_error(stem: str) -> None:
    logs.remove_empty(stem)


# --- sampling


def test_the_index_grows_only_when_a_log_has(stem: str, streams: Streams) -> None:
    sampler = Sampler(stem, streams.ids)
    sampler.sample(1)
    assert not os.path.exists(stem + ".idx")
    write(streams, out=b"abc")
    for wall in (2, 3, 4):
        sampler.sample(wall)
    write(streams, err=b"de")
    sampler.sample(5)
    sampler.close(6)
    assert Path(stem + ".idx").read_bytes() == record(2, 3, 0) + record(5, 3, 2)


def test_the_last_look_is_taken_when_the_sampler_is_closed(stem: str, streams: Streams) -> None:
    sampler = Sampler(stem, streams.ids)
    write(streams, out=b"abc")
    sampler.sample(1)
    write(streams, out=b"def")
    sampler.close(2)
    assert Path(stem + ".idx").read_bytes() == record(1, 3, 0) + record(2, 6, 0)


def test_no_index_is_begun_for_a_run_that_was_never_looked_at(stem: str, streams: Streams) -> None:
    sampler = Sampler(stem, streams.ids)
    write(streams, out=b"abc")
    sampler.close(1)
    assert not os.path.exists(stem + ".idx")


def test_a_merged_log_is_sampled_as_stdout(stem: str) -> None:
    opened = logs.open_streams(stem, merge=True)
    sampler = Sampler(stem, opened.ids)
    write(opened, out=b"abc", err=b"de")
    sampler.sample(1)
    sampler.close(2)
    opened.close()
    assert list(log_reader.segments(stem)) == [Segment(1, "stdout", 0, 5)]


def test_a_log_that_was_replaced_is_not_measured(stem: str, streams: Streams) -> None:
    sampler = Sampler(stem, streams.ids)
    write(streams, out=b"abc")
    sampler.sample(1)
    Path(stem + ".new").write_bytes(b"something else")
    os.replace(stem + ".new", stem + ".out")
    sampler.sample(2)
    os.unlink(stem + ".out")
    sampler.close(3)
    assert Path(stem + ".idx").read_bytes() == record(1, 3, 0)


def test_a_torn_record_is_cut_off_before_the_next_is_written(stem: str, streams: Streams) -> None:
    Path(stem + ".idx").write_bytes(record(1, 2, 0) + b"torn")
    sampler = Sampler(stem, streams.ids)
    write(streams, out=b"abc")
    sampler.sample(2)
    sampler.close(3)
    assert Path(stem + ".idx").read_bytes() == record(1, 2, 0) + record(2, 3, 0)


def test_an_index_that_cannot_be_written_does_not_disturb_the_run(stem: str, streams: Streams) -> None:
    os.mkdir(stem + ".idx")
    sampler = Sampler(stem, streams.ids)
    write(streams, out=b"abc")
    sampler.sample(1)
    sampler.close(2)


# --- telling


def test_the_order_seen_is_told_with_its_times(stem: str) -> None:
    content(stem, 5, 4, record(1, 3, 0) + record(2, 3, 4) + record(3, 5, 4))
    assert list(log_reader.segments(stem)) == [
        Segment(1, "stdout", 0, 3),
        Segment(2, "stderr", 0, 4),
        Segment(3, "stdout", 3, 5),
    ]


def test_within_one_look_stdout_comes_first(stem: str) -> None:
    content(stem, 3, 4, record(1, 3, 4))
    assert told(stem) == [("stdout", 0, 3), ("stderr", 0, 4)]


def test_what_lies_beyond_the_last_look_comes_last_with_the_time_of_the_file(stem: str) -> None:
    content(stem, 5, 4, record(1, 3, 0))
    os.utime(stem + ".out", ns=(0, 9_000_000))
    os.utime(stem + ".err", ns=(0, 8_000_000))
    assert list(log_reader.segments(stem)) == [
        Segment(1, "stdout", 0, 3),
        Segment(9_000, "stdout", 3, 5),
        Segment(8_000, "stderr", 0, 4),
    ]


def test_logs_without_an_index_are_told_in_full(stem: str) -> None:
    content(stem, 5, 4, b"")
    os.unlink(stem + ".idx")
    assert told(stem) == [("stdout", 0, 5), ("stderr", 0, 4)]


def test_missing_files_are_empty(stem: str) -> None:
    assert told(stem) == []
    Path(stem + ".err").write_bytes(b"e")
    assert told(stem) == [("stderr", 0, 1)]


@pytest.mark.parametrize(
    "rest",
    [b"torn", record(2, 2, 0) + record(3, 5, 0), record(2, 3, 0)[:-1]],
    ids=["torn", "backwards", "cut"],
)
def test_an_index_is_trusted_only_as_far_as_it_makes_sense(stem: str, rest: bytes) -> None:
    content(stem, 5, 0, record(1, 3, 0) + rest)
    assert told(stem) == [("stdout", 0, 3), ("stdout", 3, 5)]


def test_an_index_that_promises_more_than_there_is_invents_nothing(stem: str) -> None:
    content(stem, 3, 0, record(1, 2**63, 2**63))
    assert told(stem) == [("stdout", 0, 3)]


def test_a_reader_follows_a_live_run_and_tells_nothing_twice(stem: str, streams: Streams) -> None:
    sampler, reader = Sampler(stem, streams.ids), Reader(stem)
    assert list(reader.fresh()) == []
    write(streams, out=b"abc")
    sampler.sample(1)
    assert list(reader.fresh()) == [Segment(1, "stdout", 0, 3)]
    write(streams, out=b"d")
    assert [segment[1:] for segment in reader.fresh()] == [("stdout", 3, 4)]
    write(streams, out=b"e", err=b"f")
    sampler.sample(2)
    assert list(reader.fresh()) == [Segment(2, "stdout", 4, 5), Segment(2, "stderr", 0, 1)]
    assert list(reader.fresh()) == []
    sampler.close(3)


def test_a_reader_can_leave_the_tail_until_its_place_is_known(stem: str, streams: Streams) -> None:
    sampler, reader = Sampler(stem, streams.ids), Reader(stem)
    write(streams, out=b"abc")
    assert list(reader.fresh(tail=False)) == []
    sampler.sample(1)
    assert list(reader.fresh(tail=False)) == [Segment(1, "stdout", 0, 3)]
    sampler.close(2)


def test_a_record_that_is_just_being_written_is_read_when_it_is_whole(stem: str) -> None:
    content(stem, 3, 0, record(1, 3, 0)[:10])
    reader = Reader(stem)
    assert list(reader.fresh(tail=False)) == []
    Path(stem + ".idx").write_bytes(record(1, 3, 0))
    assert list(reader.fresh(tail=False)) == [Segment(1, "stdout", 0, 3)]


def test_an_index_of_any_length_is_read(stem: str) -> None:
    count = 5_000
    content(stem, count, 0, b"".join(record(number, number, 0) for number in range(1, count + 1)))
    assert told(stem) == [("stdout", number - 1, number) for number in range(1, count + 1)]


sizes = st.tuples(st.integers(0, 2**40), st.integers(0, 40), st.integers(0, 40))


@given(out=st.integers(0, 40), err=st.integers(0, 40), looks=st.lists(sizes), garbage=st.binary(max_size=40))
def test_whatever_the_index_says_each_byte_is_told_once_and_in_its_order(
    tmp_path_factory: pytest.TempPathFactory,
    out: int,
    err: int,
    looks: list[tuple[int, int, int]],
    garbage: bytes,
) -> None:
    stem = str(tmp_path_factory.mktemp("any") / "run")
    content(stem, out, err, b"".join(record(*look) for look in looks) + garbage)
    for stream, size in (("stdout", out), ("stderr", err)):
        parts = [(start, end) for name, start, end in told(stem) if name == stream]
        assert [byte for start, end in parts for byte in range(start, end)] == list(range(size))

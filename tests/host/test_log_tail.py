from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inturn.host import log_reader, log_tail, logs
from inturn.host.sinks import Piece

Steps = list[
    tuple[bytes, bytes, bool]
]  # what is written to stdout and stderr, and whether it is then looked at

few_letters = st.lists(st.sampled_from([b"a", b"bb", b"\n"]), max_size=4).map(b"".join)
steps = st.lists(st.tuples(few_letters, few_letters, st.booleans()), max_size=8)


def produce(stem: str, written: Steps) -> None:
    streams = logs.open_streams(stem, merge=False)
    sampler = logs.Sampler(stem, streams.ids)
    for wall, (out, err, looked_at) in enumerate(written, 1):
        os.write(streams.out, out)
        os.write(streams.err, err)
        if looked_at:
            sampler.sample(wall)
    streams.close()  # the last look is left out: what lies beyond it is dated by the file


def remove(stem: str) -> None:
    for suffix in (".out", ".err", ".idx"):
        Path(stem + suffix).unlink(missing_ok=True)


def pieces(stem: str) -> list[Piece]:
    """All pieces, the last one first."""
    suffixes = {"stdout": ".out", "stderr": ".err"}
    return [
        Piece(1, stem + suffixes[segment.stream], segment.stream, segment.wall, segment.start, segment.end)
        for segment in log_tail.backwards(stem)
    ]


def content(found: list[Piece]) -> bytes:
    return b"".join(Path(piece.path).read_bytes()[piece.start : piece.end] for piece in found)


def last_of(text: bytes, count: int) -> bytes:
    return b"".join(text.splitlines(keepends=True)[-count:]) if count else b""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_backwards_tells_the_same_as_forwards(tmp_path: Path, written: Steps) -> None:
    stem = str(tmp_path / "run")
    produce(stem, written)
    assert list(log_tail.backwards(stem))[::-1] == list(log_reader.segments(stem))
    remove(stem)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps, st.integers(0, 12))
def test_the_last_lines_are_those_of_the_output_in_the_order_seen(
    tmp_path: Path, written: Steps, count: int
) -> None:
    stem = str(tmp_path / "run")
    produce(stem, written)
    whole = content(pieces(stem)[::-1])
    assert content(log_tail.last_lines(pieces(stem), count)) == last_of(whole, count)
    remove(stem)


@pytest.mark.parametrize("count", [1, 2, 1000, 70_000, 10**12])
def test_lines_of_any_length_are_found(tmp_path: Path, count: int) -> None:
    stem = str(tmp_path / "run")
    text = b"".join(b"%d %s\n" % (number, b"x" * (number % 300)) for number in range(2000)) + b"y" * 200_000
    produce(stem, [(text, b"", True)])
    assert content(log_tail.last_lines(pieces(stem), count)) == last_of(text, count)


def test_only_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    stem = str(tmp_path / "run")
    produce(stem, [(b"", b"", False)])
    with open(stem + ".out", "r+b") as file:
        file.truncate(10**12)
        file.seek(10**12)
        file.write(b"\nlast\n")
    assert [piece.end - piece.start for piece in log_tail.last_lines(pieces(stem), 1)] == [5]


def test_an_index_of_many_records_is_read_backwards_in_parts(tmp_path: Path) -> None:
    stem = str(tmp_path / "run")
    produce(stem, [(b"o\n", b"e\n", True)] * 1500)
    assert list(log_tail.backwards(stem))[::-1] == list(log_reader.segments(stem))


def test_a_torn_record_is_passed_over(tmp_path: Path) -> None:
    stem = str(tmp_path / "run")
    produce(stem, [(b"one\n", b"two\n", True), (b"", b"three\n", False)])
    with open(stem + ".idx", "ab") as file:
        file.write(b"torn")
    assert content(pieces(stem)[::-1]) == b"one\ntwo\nthree\n"


def test_an_index_that_makes_no_sense_hides_nothing_and_tells_nothing_twice(tmp_path: Path) -> None:
    stem = str(tmp_path / "run")
    produce(stem, [(b"one\n", b"", True), (b"two\n", b"err\n", True)])
    index = Path(stem + ".idx").read_bytes()
    Path(stem + ".idx").write_bytes(index[24:] + index[:24] + os.urandom(48))
    assert sorted(content(pieces(stem)[::-1]).splitlines()) == [b"err", b"one", b"two"]


def test_logs_that_are_gone_have_no_lines(tmp_path: Path) -> None:
    assert log_tail.last_lines(pieces(str(tmp_path / "run")), 5) == []

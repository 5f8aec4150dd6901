from __future__ import annotations

import base64
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from inturn.errors import InturnError
from inturn.service import output
from inturn.service.output import Wanted
from tests.service.scene import Scene

LAST_RUN = Wanted()


def shown(scene: Scene, job_id: int, wanted: Wanted = LAST_RUN) -> bytes:
    """What `show` writes."""
    path = scene.directory.parent / "shown"
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        output.show(scene.context, job_id, wanted, out)
    finally:
        os.close(out)
    return path.read_bytes()


def segments(scene: Scene, job_id: int, wanted: Wanted = LAST_RUN) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = output.document(scene.context, job_id, wanted)["segments"]
    return found


@pytest.fixture
def job_id(scene: Scene) -> int:
    """A job that has run twice; in the second run the streams alternate."""
    job_id = scene.submit()
    first = scene.start(job_id)
    first.write(b"first\n")
    first.close()
    scene.end(job_id, "failure", repeat=True)
    second = scene.start(job_id)
    second.write(b"one\n")
    second.write(b"", b"two\n")
    second.write(b"thr")
    second.write(b"", b"four\n")
    second.write(b"ee\n")
    second.close()
    scene.end(job_id)
    return job_id


def test_the_last_run_is_shown_in_the_order_seen(scene: Scene, job_id: int) -> None:
    assert shown(scene, job_id) == b"one\ntwo\nthrfour\nee\n"
    assert scene.notices == []


def test_another_run_or_all_of_them_are_shown_on_request(scene: Scene, job_id: int) -> None:
    assert shown(scene, job_id, Wanted(run=1)) == b"first\n"
    assert shown(scene, job_id, Wanted(every=True)) == b"first\none\ntwo\nthrfour\nee\n"


@pytest.mark.parametrize(("stream", "content"), [("stdout", b"one\nthree\n"), ("stderr", b"two\nfour\n")])
def test_one_stream_is_shown_on_request(scene: Scene, job_id: int, stream: str, content: bytes) -> None:
    assert shown(scene, job_id, Wanted(stream=stream)) == content


def test_the_last_lines_may_come_from_several_runs(scene: Scene, job_id: int) -> None:
    assert shown(scene, job_id, Wanted(lines=2)) == b"thrfour\nee\n"
    assert shown(scene, job_id, Wanted(lines=0)) == b""
    assert shown(scene, job_id, Wanted(lines=5)) == b"one\ntwo\nthrfour\nee\n"
    assert shown(scene, job_id, Wanted(lines=5, every=True)) == b"first\none\ntwo\nthrfour\nee\n"
    assert shown(scene, job_id, Wanted(lines=1, stream="stderr")) == b"four\n"


def test_times_stand_before_whole_lines(scene: Scene, job_id: int) -> None:
    lines = [line.split(b"Z ") for line in shown(scene, job_id, Wanted(timestamps=True)).splitlines()]
    assert [text for _, text in lines] == [b"one", b"two", b"four", b"three"]
    assert lines[3][0] < lines[2][0]  # the time at which the line was begun


def test_bytes_are_untouched(scene: Scene) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    writer.write(b"abc\377\0def\r\n\x1b[31m", b"\xc3")
    writer.close()
    assert shown(scene, job_id) == b"abc\377\0def\r\n\x1b[31m\xc3"


def test_a_run_that_goes_on_is_shown_as_far_as_it_is(scene: Scene) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    writer.write(b"seen\n")
    writer.write_unseen(b"not yet", b"neither")
    assert shown(scene, job_id) == b"seen\nnot yetneither"
    writer.close()


def test_a_job_that_has_not_run_shows_nothing_and_says_so(scene: Scene) -> None:
    job_id = scene.submit()
    assert shown(scene, job_id) == b""
    assert scene.notices == [f"job {job_id} has not run yet"]


@pytest.mark.parametrize("number", [0, 3, 10**30])
def test_a_run_that_never_was_is_an_error(scene: Scene, job_id: int, number: int) -> None:
    with pytest.raises(InturnError) as caught:
        shown(scene, job_id, Wanted(run=number))
    assert caught.value.code == "not_found"
    assert caught.value.hint == "It has run 2 times."


def test_a_job_that_is_not_there_is_an_error(scene: Scene) -> None:
    for context in (scene.context, scene.context._replace(store=None)):
        with pytest.raises(InturnError) as caught:
            output.show(context, 99, Wanted(), -1)
        assert caught.value.code == "not_found"


def test_a_log_that_lacks_something_says_so(scene: Scene) -> None:
    job_id = scene.submit()
    scene.start(job_id).close()
    scene.end(job_id, incomplete=1)
    shown(scene, job_id)
    assert scene.notices == [f"the log of run 1 of job {job_id} is incomplete: the file system was full"]
    assert output.document(scene.context, job_id, Wanted())["log_incomplete"]


def test_one_file_for_both_streams_is_explained_to_who_asks_for_the_other(scene: Scene) -> None:
    job_id = scene.submit(merge=True)
    writer = scene.start(job_id)
    writer.write(b"out\n", b"err\n")
    writer.close()
    assert shown(scene, job_id) == b"out\nerr\n"
    assert shown(scene, job_id, Wanted(stream="stderr")) == b""
    assert scene.notices == [f"job {job_id} has both streams in one file: see --stream stdout"]


def test_logs_that_were_removed_show_nothing(scene: Scene, job_id: int) -> None:
    for path in Path(scene.directory, "logs").iterdir():
        path.unlink()
    assert shown(scene, job_id, Wanted(every=True)) == b""


def test_nothing_stays_open(scene: Scene, job_id: int) -> None:
    before = os.listdir("/proc/self/fd")
    for wanted in (Wanted(every=True), Wanted(timestamps=True), Wanted(lines=1)):
        shown(scene, job_id, wanted)
        segments(scene, job_id, wanted)
    assert os.listdir("/proc/self/fd") == before


# --- JSON


def test_segments_say_when_and_where(scene: Scene, job_id: int) -> None:
    found = segments(scene, job_id)
    assert [(segment["stream"], segment["text"]) for segment in found] == [
        ("stdout", "one\n"),
        ("stderr", "two\n"),
        ("stdout", "thr"),
        ("stderr", "four\n"),
        ("stdout", "ee\n"),
    ]
    assert found[0]["at"] == "2027-03-28T01:00:00.250000Z"
    assert {segment["run"] for segment in found} == {2}


def test_the_document_says_which_run_it_shows(scene: Scene, job_id: int) -> None:
    def run(wanted: Wanted) -> object:
        return output.document(scene.context, job_id, wanted)["run"]

    assert (run(Wanted()), run(Wanted(run=1)), run(Wanted(every=True))) == (2, 1, None)
    assert {segment["run"] for segment in segments(scene, job_id, Wanted(every=True))} == {1, 2}
    assert output.document(scene.context, scene.submit(), Wanted())["segments"] == []


def test_lines_and_stream_hold_for_segments_too(scene: Scene, job_id: int) -> None:
    found = segments(scene, job_id, Wanted(stream="stderr", lines=1))
    assert [segment["text"] for segment in found] == ["four\n"]


def test_what_is_no_text_is_there_as_bytes(scene: Scene) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    writer.write(b"abc\377\0def\n")
    writer.close()
    (segment,) = segments(scene, job_id)
    assert segment["text"] == "abc\ufffd\0def\n"
    assert base64.b64decode(segment["text_base64"]) == b"abc\377\0def\n"


def test_a_character_that_was_cut_in_two_is_whole_again(scene: Scene) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    for byte in "aé€😀".encode():
        writer.write(bytes([byte]), b"-")
    writer.write(b"\xe2\x82")  # and one that stays cut
    writer.close()
    found = [segment for segment in segments(scene, job_id) if segment["stream"] == "stdout"]
    assert "".join(segment["text"] for segment in found[:-1]) == "aé€😀"
    assert not any("text_base64" in segment for segment in found[:-1])
    assert base64.b64decode(found[-1]["text_base64"]) == b"\xe2\x82"


def test_a_log_that_somebody_has_removed_is_said_to_be_gone(scene: Scene, job_id: int) -> None:
    stem = scene.directory / scene.run(job_id, 2).log
    for suffix in (".out", ".err"):
        stem.with_name(stem.name + suffix).unlink()
    assert shown(scene, job_id) == b""
    assert scene.notices == [f"the log of run 2 of job {job_id} is gone: somebody has removed it"]
    scene.notices.clear()
    shutil.rmtree(scene.directory / "logs")
    assert shown(scene, job_id, Wanted(run=1)) == b""
    assert scene.notices == [f"the log of run 1 of job {job_id} is gone: somebody has removed it"]

"""A soak of some seconds: every job is accounted for, the samples can be true, and nothing is left behind."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from bench import page, process
from bench.place import until
from bench.soak import __main__ as command
from bench.soak import jobs
from bench.soak.course import Course, soak
from bench.soak.disk import LOOP, NONE, TMPFS, small_disk
from bench.soak.feeder import Feeder
from bench.soak.record import Record, told
from bench.soak.settings import Settings
from bench.tools.base import ROOT

SHORT = Settings(minutes=0.1, rate=20, every=1)


def test_a_short_soak_accounts_for_every_job_and_leaves_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    course = soak(SHORT, lines.append, str(tmp_path), (NONE,))
    assert course.faults == []
    assert_plausible(course)
    assert len(lines) == 2 + len(course.samples)
    assert not process.belonging(str(tmp_path)), "no process is left"
    assert os.listdir(tmp_path) == [], "and no file"


def assert_plausible(course: Course) -> None:
    assert course.samples
    for sample in course.samples:
        assert all(math.isfinite(value) for value in sample)
        assert min(sample.pss, sample.rss, sample.descriptors, sample.database, sample.wal, sample.free) > 0
    assert course.samples[-1].owner_files >= 2, "the worker's lock and FIFO"
    assert max(sample.log_files for sample in course.samples) > 0
    assert "jobs in" in course.facts["done"]
    assert course.facts["disk"].startswith("no disk of its own")


@pytest.mark.parametrize("kind", [LOOP, TMPFS])
def test_a_disk_is_mounted_for_as_long_as_it_is_used(kind: str, tmp_path: Path) -> None:
    try:
        with small_disk(str(tmp_path), 16, (kind,)) as made:
            assert os.path.ismount(made.path)
            assert kind in made.what
            size = os.statvfs(made.path)
            assert size.f_blocks * size.f_frsize <= 16 << 20
            (Path(made.path) / "file").write_bytes(b"x" * 100_000)
    except OSError as error:
        pytest.skip(str(error))
    assert not os.path.ismount(made.path)
    assert os.listdir(tmp_path) == ["disk"]


def test_a_disk_is_unmounted_when_somebody_interrupts(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), small_disk(str(tmp_path), 16) as made:
        raise KeyboardInterrupt
    assert not os.path.ismount(made.path)


def test_the_record_tells_what_was_lost_and_what_ran_twice(tmp_path: Path) -> None:
    file = tmp_path / "record"
    record = Record(str(file))
    record.look()
    assert record.missing(2) == [0, 1]
    # Of job 3 the first run fails, and a line may come in pieces.
    with file.open("a") as writer:
        writer.write("0 1\n1 1\n2 1\n3 1\n3 ")
        writer.flush()
        record.look()
        assert (record.complete, record.runs, record.missing(4)) == (3, 4, [3])
        writer.write("2\n")
    record.look()
    assert (record.complete, record.runs, record.missing(4), record.faults) == (4, 5, [], [])
    with file.open("a") as writer:
        writer.write(f"1 1\n4 2\n{jobs.NEVER} 1\n")
    record.look()
    record.close()
    assert record.faults == [
        "job 1: run 1 comes as number 2 of 1",
        "job 4: run 2 comes as number 1 of 1",
        f"the record has '{jobs.NEVER} 1'",
    ]
    assert told(record.faults * 3).endswith(", and 4 more")


def test_jobs_of_every_kind_come_about_and_depend_on_one_that_ends_as_it_should() -> None:
    kinds = {str(jobs.kind_of(number)) for number in range(1000)}
    every = (value for value in vars(jobs).values() if isinstance(value, jobs.Kind))
    assert kinds >= set(map(str, every))
    assert {jobs.is_supervised(number, 50) for number in range(2000)} == {True, False}
    for number in range(1000):
        if jobs.kind_of(number).after:
            failing = jobs.kind_of(number - 1) is jobs.HOPELESS
            assert jobs.kind_of(number).after == ("failed" if failing else "success")


def test_the_feeder_adds_what_is_due_in_one_line_of_numbers(tmp_path: Path) -> None:
    import inturn

    record = Record(str(tmp_path / "record"))
    with inturn.open(tmp_path / "store") as store:
        feeder = Feeder(store, record.path, 1)
        # Neither a supervised job nor one that is aborted disturbs the numbers.
        for due in (4, 4, 5, 19):
            feeder.feed(due)
            assert feeder.fed == due
        feeder.feed(41)
        assert feeder.fed == 41
        assert store.counts()["waiting"] >= 3
        store.cancel(store.jobs(status="live"))
    record.close()
    until(lambda: not process.belonging(str(tmp_path)), "the end of the supervisors")


@pytest.mark.parametrize("words", [("--minutes", "0"), ("--rate", "x"), ("--disk", "floppy"), ("--min", "1")])
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(words)
    assert "error:" in capsys.readouterr().err


def test_a_page_without_a_place_for_it_is_refused_before_anything_is_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["--write", os.path.join(ROOT, "README.md")]) == 1
    assert "no place for tables" in capsys.readouterr().err


def test_the_page_has_a_place_for_the_result() -> None:
    page.check(os.path.join(ROOT, "docs", "performance.md"), command.MARKS)

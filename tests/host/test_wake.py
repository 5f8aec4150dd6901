from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.core.moment import SECOND
from inturn.host import identity, wake
from tests.e2e.harness import until

DEADLINE = 60 * SECOND


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "owner.fifo"


@pytest.fixture
def fifo(path: Path) -> Iterator[int]:
    fd = wake.create(str(path))
    yield fd
    os.close(fd)


def test_a_ring_from_another_process_ends_the_sleep(path: Path, fifo: int) -> None:
    program = "import sys; from inturn.host import wake; wake.ring(sys.argv[1])"
    ringer = subprocess.Popen([sys.executable, "-c", program, str(path)])
    try:
        assert wake.wait([fifo], DEADLINE) == {fifo}
    finally:
        assert ringer.wait() == 0


def test_a_ring_before_the_sleep_is_not_lost(path: Path, fifo: int) -> None:
    wake.ring(str(path))
    assert wake.wait([fifo], DEADLINE) == {fifo}


def test_after_the_hints_were_taken_out_there_is_nothing_to_wake_for(path: Path, fifo: int) -> None:
    for _ in range(1000):
        wake.ring(str(path))
    wake.drain(fifo)
    assert wake.wait([fifo], 0) == set()
    wake.drain(fifo)  # an empty one is no error


def test_the_fifo_never_reports_that_its_last_ringer_has_gone(path: Path, fifo: int) -> None:
    wake.ring(str(path))
    wake.drain(fifo)
    assert wake.wait([fifo], 1000) == set()


def test_a_full_fifo_makes_nobody_wait(path: Path, fifo: int) -> None:
    for _ in range(70_000):
        wake.ring(str(path))
    assert wake.wait([fifo], 0) == {fifo}


@pytest.mark.parametrize("place", ["absent", "absent/below"])
def test_to_ring_where_nobody_is_does_nothing(tmp_path: Path, place: str) -> None:
    wake.ring(str(tmp_path / place))
    assert list(tmp_path.iterdir()) == []


def test_to_ring_an_owner_that_has_died_does_nothing(path: Path) -> None:
    os.close(wake.create(str(path)))
    wake.ring(str(path))
    assert path.is_fifo()


def test_a_file_in_place_of_the_fifo_is_not_written_to(path: Path) -> None:
    path.write_text("mine")
    wake.ring(str(path))
    assert path.read_text() == "mine"


def test_a_link_to_a_fifo_is_not_followed(path: Path, fifo: int) -> None:
    link = path.parent / "link"
    link.symlink_to(path)
    wake.ring(str(link))
    assert wake.wait([fifo], 0) == set()


def test_the_fifo_of_another_user_is_not_rung(path: Path, fifo: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    wake.ring(str(path))
    monkeypatch.undo()
    assert wake.wait([fifo], 0) == set()


def test_rings_leave_no_descriptor_open(path: Path, fifo: int) -> None:
    (path.parent / "file").write_text("")
    before = os.listdir("/proc/self/fd")
    for name in (path.name, "file", "absent"):
        wake.ring(str(path.parent / name))
    assert os.listdir("/proc/self/fd") == before


def test_a_fifo_is_private_even_without_a_umask(path: Path) -> None:
    umask = os.umask(0)
    try:
        fd = wake.create(str(path))
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_a_fifo_is_never_created_over_something_that_exists(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        wake.create(str(path))
    assert path.read_text() == "mine"


@pytest.mark.parametrize("timeout_us", [1, 1_001, 1_999, 20_000])
def test_when_the_sleep_is_over_the_deadline_has_passed(fifo: int, timeout_us: int) -> None:
    start = time.monotonic_ns()
    assert wake.wait([fifo], timeout_us) == set()
    assert time.monotonic_ns() - start >= timeout_us * 1000


@pytest.mark.parametrize("timeout_us", [0, -1, -(10**18)])
def test_a_deadline_that_has_passed_is_no_reason_to_sleep(fifo: int, timeout_us: int) -> None:
    assert wake.wait([fifo], timeout_us) == set()


@pytest.mark.parametrize("timeout_us", [None, 10**18])
def test_a_sleep_may_be_endless_or_longer_than_the_system_can_count(
    path: Path, fifo: int, timeout_us: int | None
) -> None:
    wake.ring(str(path))
    assert wake.wait([fifo], timeout_us) == {fifo}


def test_a_sleep_without_descriptors_lasts_its_time() -> None:
    start = time.monotonic_ns()
    assert wake.wait([], 5_000) == set()
    assert time.monotonic_ns() - start >= 5_000_000


def test_only_the_descriptors_that_have_something_to_tell_are_returned(path: Path, fifo: int) -> None:
    other = wake.create(str(path.parent / "other"))
    wake.ring(str(path.parent / "other"))
    assert wake.wait([fifo, other], DEADLINE) == {other}
    wake.ring(str(path))
    assert wake.wait([fifo, other], DEADLINE) == {fifo, other}
    os.close(other)


def test_the_end_of_a_pipe_and_a_closed_descriptor_end_the_sleep() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    assert wake.wait([reader], DEADLINE) == {reader}
    os.close(reader)
    assert wake.wait([reader], DEADLINE) == {reader}


def test_the_end_of_a_process_ends_the_sleep_on_its_pidfd() -> None:
    child = subprocess.Popen(["sleep", "600"])
    try:
        found = identity.of(child.pid)
        assert found is not None
        pidfd = identity.open_pidfd(found)
        assert pidfd is not None
        assert wake.wait([pidfd], 0) == set()
        child.kill()
        assert wake.wait([pidfd], DEADLINE) == {pidfd}
        os.close(pidfd)
    finally:
        child.kill()
        child.wait()


def test_a_signal_that_is_handled_does_not_shorten_the_sleep(fifo: int) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: seen.append(number))
    try:
        start = time.monotonic_ns()
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        assert wake.wait([fifo], 50_000) == set()
        assert time.monotonic_ns() - start >= 50_000_000
        until(lambda: seen, "the signal handled")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

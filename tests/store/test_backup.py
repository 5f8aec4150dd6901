from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from inturn.core.layout import DATABASE
from inturn.store.backup import abandoned, back_up, sweep
from tests.builders import add_job, new_store


def test_the_copy_is_one_private_file_with_all_that_was_committed(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.writing():
        add_job(store)
    target = tmp_path / "copies" / "one"
    target.parent.mkdir()
    back_up(store.connection, str(target))
    assert os.listdir(target.parent) == ["one"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READONLY)
    assert copy.execute("SELECT count(*) FROM jobs").fetchall() == [(1,)]
    copy.close()
    assert os.listdir(target.parent) == ["one"]
    store.close()


def test_what_another_process_has_not_committed_is_not_in_it(tmp_path: Path) -> None:
    store, other = new_store(tmp_path), new_store(tmp_path)
    with other.writing():
        add_job(other)
        back_up(store.connection, str(tmp_path / "copy"))
    copy = apsw.Connection(str(tmp_path / "copy"))
    assert copy.execute("SELECT count(*) FROM jobs").fetchall() == [(0,)]
    copy.close()
    store.close()
    other.close()


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_what_is_there_is_left_as_it_is_and_nothing_is_left_beside_it(tmp_path: Path, kind: str) -> None:
    store = new_store(tmp_path)
    place = tmp_path / "copies"
    place.mkdir()
    target = place / "one"
    if kind == "file":
        target.write_text("precious")
    else:
        if kind == "link":
            (tmp_path / "there").write_text("precious")
        target.symlink_to(tmp_path / "there")
    with pytest.raises(FileExistsError):
        back_up(store.connection, str(target))
    assert os.listdir(place) == ["one"]
    assert kind == "dangling link" or target.read_text() == "precious"
    assert (tmp_path / "there").exists() == (kind == "link")
    store.close()


# Copies a store, and stops before it is done with that; says so by a line.
COPIER = """
import os, signal, sys
from pathlib import Path
from inturn.store.backup import back_up
from tests.builders import new_store
store = new_store(Path(sys.argv[1]))
def stop(*names):
    print("copied", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
os.link = stop
back_up(store.connection, sys.argv[2])
"""

BACKUP = f"{DATABASE}.backup-1001"
WORD = "0123456789abcdef"


@pytest.fixture(params=[BACKUP, f"{BACKUP}.2"])
def copier(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a copy."""
    with subprocess.Popen(
        [sys.executable, "-c", COPIER, str(tmp_path), str(tmp_path / request.param)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "copied\n"
        yield process
        process.kill()


def copies(directory: Path) -> list[str]:
    return sorted(name for name in os.listdir(directory) if "backup" in name)


def test_a_copy_is_left_alone_as_long_as_somebody_writes_it_and_swept_when_that_has_died(
    tmp_path: Path, copier: subprocess.Popen[str]
) -> None:
    path = str(tmp_path / DATABASE)
    before = copies(tmp_path)
    assert len(before) == 1
    assert (abandoned(path), sweep(path), copies(tmp_path)) == ([], 0, before)
    copier.send_signal(signal.SIGKILL)
    copier.wait()
    assert abandoned(path) == [str(tmp_path / before[0])]
    assert (sweep(path), copies(tmp_path), abandoned(path)) == (1, [], [])


@pytest.mark.parametrize("left", [("", "-journal"), ("", "-wal", "-shm"), ("-journal",), ("-shm", "-wal")])
def test_what_sqlite_has_put_beside_a_copy_is_swept_with_it_or_without_it(
    tmp_path: Path, left: tuple[str, ...]
) -> None:
    for suffix in left:
        (tmp_path / f"{BACKUP}.{WORD}{suffix}").touch()
    assert abandoned(str(tmp_path / DATABASE)) == [str(tmp_path / f"{BACKUP}.{WORD}")]
    assert sweep(str(tmp_path / DATABASE)) == 1
    assert copies(tmp_path) == []


def test_what_sqlite_has_put_beside_a_copy_stays_as_long_as_somebody_writes_that(tmp_path: Path) -> None:
    for suffix in ("", "-journal"):
        (tmp_path / f"{BACKUP}.{WORD}{suffix}").touch()
    with open(tmp_path / f"{BACKUP}.{WORD}") as copy:
        fcntl.flock(copy, fcntl.LOCK_EX)
        assert sweep(str(tmp_path / DATABASE)) == 0
    assert len(copies(tmp_path)) == 2


@pytest.mark.parametrize(
    "name",
    [
        BACKUP,
        f"{BACKUP}.2",
        f"{BACKUP}.123456789",
        f"{BACKUP}.mine",
        f"{BACKUP}.{WORD}.gz",
        f"{BACKUP}.{WORD[1:]}",
        f"{DATABASE}.{WORD}",
        f"my-{BACKUP}.{WORD}",
        f"{DATABASE}-journal",
    ],
)
def test_whole_backups_and_what_has_another_name_are_not_swept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("precious")
    assert (abandoned(str(tmp_path / DATABASE)), sweep(str(tmp_path / DATABASE))) == ([], 0)
    assert (tmp_path / name).read_text() == "precious"


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_what_is_no_file_is_not_swept(tmp_path: Path, kind: str) -> None:
    place = tmp_path / f"{BACKUP}.{WORD}"
    if kind == "link":
        (tmp_path / "there").touch()
        place.symlink_to(tmp_path / "there")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    assert sweep(str(tmp_path / DATABASE)) == 0
    assert os.path.lexists(place)


def test_a_copy_that_was_swept_before_it_was_locked_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path)
    lock = fcntl.flock
    swept: list[list[str]] = []

    def sweeps_first(fd: int, how: int) -> None:
        if not swept:
            swept.append(sweep_all(tmp_path))
        lock(fd, how)

    def sweep_all(directory: Path) -> list[str]:
        names = copies(directory)
        for name in names:
            (directory / name).unlink()
        return names

    monkeypatch.setattr(fcntl, "flock", sweeps_first)
    back_up(store.connection, str(tmp_path / BACKUP))
    assert len(swept[0]) == 1
    assert copies(tmp_path) == [BACKUP]
    store.close()

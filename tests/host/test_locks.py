from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from inturn.host import locks
from tests.e2e.harness import until

OWNER = """
import sys
from inturn.host import locks
fd = locks.create(sys.argv[1])
print(*locks.file_id(fd), flush=True)
sys.stdin.read()
"""

# Hands the lock to a child, says which, and waits.
OWNER_WITH_CHILD = """
import subprocess, sys
from inturn.host import locks
fd = locks.create(sys.argv[1])
child = subprocess.Popen(["env", "-i", "sleep", "600"], pass_fds=[fd])
print(*locks.file_id(fd), child.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def owner(program: str, path: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield process, [int(word) for word in process.stdout.readline().split()]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "owner.lock"


@pytest.fixture
def freed(path: Path) -> tuple[int, int]:
    """The identity of a lock file whose owner is gone."""
    fd = locks.create(str(path))
    found = locks.file_id(fd)
    os.close(fd)
    return found


def test_a_lock_is_held_while_its_owner_lives_and_free_once_it_was_killed(path: Path) -> None:
    with owner(OWNER, path) as (process, (dev, ino)):
        assert locks.probe(str(path), dev, ino) == "held"
        process.kill()
        process.wait()
        assert locks.probe(str(path), dev, ino) == "free"


def test_a_lock_is_held_as_long_as_any_process_has_inherited_it(path: Path) -> None:
    with owner(OWNER_WITH_CHILD, path) as (process, (dev, ino, child)):
        try:
            process.kill()
            process.wait()
            assert locks.probe(str(path), dev, ino) == "held"
        finally:
            os.kill(child, 9)
        until(lambda: locks.probe(str(path), dev, ino) == "free", "the lock free after its last holder died")


def test_a_program_that_is_not_meant_to_inherit_the_lock_does_not(path: Path) -> None:
    fd = locks.create(str(path))
    found = locks.file_id(fd)
    child = subprocess.Popen(["sleep", "600"], close_fds=False)
    try:
        os.close(fd)
        assert locks.probe(str(path), *found) == "free"
    finally:
        child.kill()
        child.wait()


def test_the_owner_itself_sees_its_lock_as_held(path: Path) -> None:
    fd = locks.create(str(path))
    assert locks.probe(str(path), *locks.file_id(fd)) == "held"
    os.close(fd)


def test_to_look_at_a_lock_does_not_take_it_away(path: Path) -> None:
    fd = locks.create(str(path))
    found = locks.file_id(fd)
    assert {locks.probe(str(path), *found) for _ in range(100)} == {"held"}
    os.close(fd)


def test_many_who_look_at_once_do_not_take_each_other_for_the_owner(
    path: Path, freed: tuple[int, int]
) -> None:
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: locks.probe(str(path), *freed), range(2000)))
    assert set(seen) == {"free"}


def test_a_probe_leaves_no_descriptor_open(path: Path, freed: tuple[int, int]) -> None:
    before = os.listdir("/proc/self/fd")
    locks.probe(str(path), *freed)
    locks.probe(str(path), 0, 0)
    locks.probe(str(path.parent), *freed)
    assert os.listdir("/proc/self/fd") == before


def test_a_lock_file_is_private_even_without_a_umask(path: Path) -> None:
    umask = os.umask(0)
    try:
        fd = locks.create(str(path))
    finally:
        os.umask(umask)
    assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o600
    os.close(fd)


def test_a_lock_is_never_created_over_something_that_exists(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        locks.create(str(path))
    assert path.read_text() == "mine"


def test_a_lock_is_never_created_through_a_link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(FileExistsError):
        locks.create(str(path))
    assert not (path.parent / "elsewhere").exists()


def test_a_missing_file_proves_nothing(path: Path, freed: tuple[int, int]) -> None:
    path.unlink()
    assert locks.probe(str(path), *freed) == "missing"
    assert locks.probe(str(path / "below"), *freed) == "missing"


def test_a_file_that_was_removed_and_created_again_while_the_owner_lives_is_another_one(path: Path) -> None:
    fd = locks.create(str(path))
    found = locks.file_id(fd)
    path.unlink()
    path.write_bytes(b"")
    assert locks.probe(str(path), *found) == "replaced"
    os.close(fd)


def test_a_link_to_the_right_file_is_not_the_file(path: Path, freed: tuple[int, int]) -> None:
    moved = path.rename(path.parent / "moved")
    path.symlink_to(moved)
    assert locks.probe(str(path), *freed) == "replaced"


def test_a_pipe_in_place_of_the_file_is_seen_without_waiting_for_its_writer(
    path: Path, freed: tuple[int, int]
) -> None:
    path.rename(path.parent / "moved")
    os.mkfifo(path)
    assert locks.probe(str(path), *freed) == "replaced"
    assert locks.probe(str(path), path.stat().st_dev, path.stat().st_ino) == "replaced"


def test_a_directory_or_a_socket_in_place_of_the_file_is_not_the_file(
    path: Path, freed: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path.rename(path.parent / "moved")
    path.mkdir()
    assert locks.probe(str(path), path.stat().st_dev, path.stat().st_ino) == "replaced"
    path.rmdir()
    monkeypatch.chdir(path.parent)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)
        assert locks.probe(str(path), *freed) == "replaced"

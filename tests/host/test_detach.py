"""A process that outlives us has what it is given; of one that cannot be started nothing is left."""

from __future__ import annotations

import errno
import json
import os
import resource
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inturn.host import detach
from tests.e2e.harness import DEADLINE

ENVIRONMENT = {"PATH": os.environ["PATH"]}

# Tells what it has been given, after a word of ours.
CHILD = """
import json, os
word = os.read(4, 100).decode()
found = {}
for fd in os.listdir("/proc/self/fd"):
    try:
        found[int(fd)] = os.readlink(f"/proc/self/fd/{fd}")
    except FileNotFoundError:
        pass
os.write(5, json.dumps([word, os.getsid(0) == os.getpid(), found]).encode())
"""

# Two pipes and three copies: what a start opens before there is a process.
MOST = 7


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    yield fd
    os.close(fd)


def open_files() -> dict[str, str]:
    """What every descriptor of ours is, except the one that lists them."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            pass
    return found


@contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """No more than so many can be opened."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.dup(0) for _ in range(count + 1)]
    for fd in free:
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[-1], limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def read_all(fd: int) -> bytes:
    """What comes until the other end is closed."""
    told = b""
    while select.select([fd], [], [], DEADLINE)[0] and (data := os.read(fd, 4096)):
        told += data
    return told


def test_it_has_a_session_of_its_own_and_the_descriptors_that_it_is_to_find(
    lock: int, tmp_path: Path
) -> None:
    started = detach.start((sys.executable, "-ISc", CHILD), ENVIRONMENT, lock)
    os.write(started.go, b"word")
    os.close(started.go)
    word, leads, given = json.loads(read_all(started.answer))
    os.close(started.answer)
    os.waitpid(started.pid, 0)
    assert (word, leads) == ("word", True)
    assert [given[str(fd)] for fd in range(3)] == ["/dev/null"] * 3
    assert given[str(detach.LOCK_FD)] == str(tmp_path / "lock")
    # Nobody else could write to the one or read the other.
    pipes = [given[str(fd)] for fd in (detach.GO_FD, detach.ANSWER_FD)]
    assert [list(given.values()).count(pipe) for pipe in pipes] == [1, 1]


def test_we_keep_our_ends_of_the_pipes_and_no_others(lock: int) -> None:
    before = open_files()
    started = detach.start(("/bin/sh", "-c", "read word <&4"), ENVIRONMENT, lock)
    assert set(open_files()) - set(before) == {str(started.go), str(started.answer)}
    os.close(started.go)
    # It has no end of the first pipe that could be written to, nor we one of the second.
    assert read_all(started.answer) == b""
    os.close(started.answer)
    os.waitpid(started.pid, 0)


@pytest.mark.parametrize("left", range(MOST))
def test_where_descriptors_run_out_none_is_left_open(lock: int, left: int) -> None:
    before = open_files()
    with descriptors_left(left):
        for _ in range(3):
            with pytest.raises(OSError, match="Too many open files") as refused:
                detach.start(("/bin/true",), ENVIRONMENT, lock)
            assert refused.value.errno == errno.EMFILE
    assert open_files() == before


def test_a_program_that_is_not_there_leaves_no_descriptor_open(lock: int) -> None:
    before = open_files()
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            detach.start(("/nowhere/to/be/found",), ENVIRONMENT, lock)
    assert open_files() == before


def test_a_lock_that_is_none_leaves_no_descriptor_open() -> None:
    before = open_files()
    with pytest.raises(OSError, match="Bad file descriptor"):
        detach.start(("/bin/true",), ENVIRONMENT, 1 << 20)
    assert open_files() == before

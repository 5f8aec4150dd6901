from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.host import identity, locks, pulse

DEAD = "1:1:another-boot:1"


@pytest.fixture
def alive() -> Iterator[str]:
    """The identity of a process that lives."""
    process = subprocess.Popen(["sleep", "600"])
    found = identity.of(process.pid)
    assert found is not None
    yield found.text()
    process.kill()
    process.wait()


def test_a_held_lock_outranks_the_identity(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    fd = locks.create(path)
    assert pulse.verdict(path, *locks.file_id(fd), DEAD) == "alive"
    os.close(fd)


def test_a_free_lock_outranks_the_identity(tmp_path: Path, alive: str) -> None:
    path = str(tmp_path / "lock")
    fd = locks.create(path)
    file = locks.file_id(fd)
    os.close(fd)
    assert pulse.verdict(path, *file, alive) == "dead"


@pytest.mark.parametrize("replaced", [False, True])
def test_without_the_file_that_was_locked_the_identity_decides(
    tmp_path: Path, alive: str, replaced: bool
) -> None:
    path = tmp_path / "lock"
    if replaced:
        path.touch()
    for who, expected in ((alive, "alive"), (DEAD, "dead"), ("nonsense", "unknown")):
        assert pulse.verdict(str(path), 1, 1, who) == expected


def test_a_process_of_another_pid_namespace_is_unknown(tmp_path: Path, alive: str) -> None:
    elsewhere = alive.rpartition(":")[0] + ":1"
    assert pulse.verdict(str(tmp_path / "lock"), 1, 1, elsewhere) == "unknown"


def test_who_is_unreadable_is_not_said_to_be_stopped() -> None:
    assert not pulse.is_stopped("nobody")
    assert not pulse.is_stopped(DEAD)

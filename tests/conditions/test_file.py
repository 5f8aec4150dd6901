from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from inturn import conditions
from inturn.conditions.base import Observation, Surroundings
from inturn.core.job import Condition
from inturn.core.moment import SECOND, Now

NOW = Now(0, 0, "boot")


def look(cwd: Path, path: bytes | str) -> Observation:
    surroundings = Surroundings(os.fsencode(cwd), {}, SECOND)
    seen = conditions.start(Condition(1, 0, "file", os.fsencode(path)), surroundings, NOW)
    assert isinstance(seen, Observation)
    return seen


def test_a_file_in_the_directory_of_the_job_satisfies(tmp_path: Path) -> None:
    (tmp_path / "ready").touch()
    assert look(tmp_path, "ready") == (True, "exists")


def test_an_absolute_path_does_not_depend_on_the_directory(tmp_path: Path) -> None:
    (tmp_path / "ready").touch()
    assert look(Path("/absent"), str(tmp_path / "ready")).satisfied


def test_what_is_not_there_yet_is_told(tmp_path: Path) -> None:
    assert look(tmp_path, "ready") == (False, "No such file or directory")
    assert look(tmp_path / "absent", "ready") == (False, "No such file or directory")


def test_a_dangling_link_does_not_satisfy_until_its_target_is_there(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    assert not look(tmp_path, "link").satisfied
    (tmp_path / "target").touch()
    assert look(tmp_path, "link").satisfied


def test_anything_that_exists_counts(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    server = socket.socket(socket.AF_UNIX)
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(tmp_path)  # the name of a socket must be short
        server.bind("socket")
    finally:
        os.fchdir(here)
        os.close(here)
        server.close()
    assert all(look(tmp_path, name).satisfied for name in ("directory", "fifo", "socket", "/dev/null"))


def test_a_name_that_is_not_utf_8_is_found(tmp_path: Path) -> None:
    name = b"caf\xe9"
    os.close(os.open(os.path.join(os.fsencode(tmp_path), name), os.O_CREAT | os.O_WRONLY))
    assert look(tmp_path, name).satisfied


def test_a_path_through_a_file_is_no_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert look(tmp_path, "file/below") == (False, "Not a directory")
    assert look(tmp_path, "n" * 5000) == (False, "File name too long")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_directory_that_may_not_be_looked_into_is_told(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(0)
    assert look(tmp_path, "closed/ready") == (False, "Permission denied")


def test_a_loop_of_links_does_not_satisfy(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert not look(tmp_path, "one").satisfied

"""The directories of logs: found by their names, and removed only if there is nothing in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inturn.host import log_dirs, store_dir
from inturn.owners.admit import log_of


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The place of the logs of a new store."""
    store_dir.create_store_dirs(str(tmp_path / "store"))
    return tmp_path / "store" / "logs"


def numbers(logs: Path) -> list[int]:
    return sorted(log_dirs.numbers(str(logs.parent)))


def test_they_are_found_where_runs_have_their_logs(logs: Path) -> None:
    for job_id in (1, 999, 1000, 2_345_678):
        os.makedirs(logs.parent / os.path.dirname(log_of(job_id, 1)), exist_ok=True)
    assert numbers(logs) == [0, 1, 2345]


def test_what_has_another_name_or_is_no_directory_is_none_of_them(logs: Path) -> None:
    for name in ("07", "-1", "x", "\u0667", "1.5"):
        (logs / name).mkdir()
    (logs / "3").touch()
    (logs / "4").symlink_to(logs / "x")
    assert numbers(logs) == []


def test_where_there_is_no_place_for_logs_there_are_none(logs: Path) -> None:
    logs.rmdir()
    assert numbers(logs) == []
    assert log_dirs.empty(str(logs.parent), [0]) == []
    assert log_dirs.remove_empty(str(logs.parent), [0]) == 0


def test_one_with_anything_in_it_stays(logs: Path) -> None:
    for number in range(4):
        (logs / str(number)).mkdir()
    (logs / "1" / "a file").touch()
    (logs / "2" / "a directory").mkdir()
    store = str(logs.parent)
    assert log_dirs.empty(store, [0, 1, 2]) == [0]
    assert log_dirs.remove_empty(store, [0, 1, 2]) == 1
    assert numbers(logs) == [1, 2, 3]

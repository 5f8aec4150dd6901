"""Directories of a store that somebody has removed."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from inturn.host import locks, paths, premises, store_dir, wake


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A store with its directories and a database."""
    store_dir.create_store_dirs(str(tmp_path / "store"))
    (tmp_path / "store" / "inturn.db").write_bytes(b"content")
    return tmp_path / "store"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_directory_that_was_removed_is_missed_and_made_again(made: Path) -> None:
    assert premises.missing_dirs(str(made)) == []
    (made / "owners").rmdir()
    assert paths.tokens_of_files(str(made)) == set()
    assert premises.missing_dirs(str(made)) == ["owners"]
    paths.make_again(str(made / "owners"))
    assert mode(made / "owners") == 0o700
    assert premises.missing_dirs(str(made)) == []


def test_of_a_store_without_its_database_nothing_is_made_again(made: Path) -> None:
    (made / "owners").rmdir()
    (made / "inturn.db").unlink()
    with pytest.raises(FileNotFoundError):
        paths.make_again(str(made / "owners"))
    assert not (made / "owners").exists()


def test_locks_and_fifos_come_into_a_directory_that_was_removed(made: Path) -> None:
    lock, fifo = paths.owner_files(str(made), "owner")
    for path, create in ((lock, locks.create), (fifo, wake.create)):
        shutil.rmtree(made / "owners")
        os.close(create(path))
        assert os.path.lexists(path)

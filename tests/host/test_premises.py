from __future__ import annotations

import os
from pathlib import Path

import pytest

from inturn.host import clock, locks, paths, premises, store_dir

LONG_AGO = 1_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> str:
    directory = str(tmp_path / "store")
    store_dir.create_store_dirs(directory)
    return directory


def leave(store: str, token: str, old: bool = True, lock: bool = True, fifo: bool = True) -> None:
    """Files as a dead owner leaves them."""
    for path, wanted in zip(paths.owner_files(store, token), (lock, fifo), strict=True):
        if wanted:
            Path(path).touch()
            if old:
                os.utime(path, (LONG_AGO, LONG_AGO))


def abandoned(store: str, *known: str) -> list[str]:
    return premises.abandoned(store, set(known), clock.now().wall)


def test_old_files_of_unknown_owners_are_abandoned(store: str) -> None:
    leave(store, "both")
    leave(store, "only-a-lock", fifo=False)
    leave(store, "only-a-fifo", lock=False)
    leave(store, "known")
    assert abandoned(store, "known") == ["both", "only-a-fifo", "only-a-lock"]


def test_files_of_somebody_who_may_be_about_to_register_are_not(store: str) -> None:
    leave(store, "young", old=False)
    assert abandoned(store) == []


def test_files_of_somebody_who_lives_are_not_however_old(store: str) -> None:
    lock, _ = paths.owner_files(store, "alive")
    fd = locks.create(lock)
    os.utime(lock, (LONG_AGO, LONG_AGO))
    assert abandoned(store) == []
    os.close(fd)
    assert abandoned(store) == ["alive"]


def test_logs_are_told_by_their_jobs(store: str) -> None:
    names = ("0/7.1.out", "0/7.1.idx", "0/7.2.err", "1/1001.1.out", "0/notes", "0/x.1.out")
    for name in names:
        path = Path(store, "logs", name)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    found = premises.logs_by_job(store)
    assert {job: len(files) for job, files in found.items()} == {7: 3, 1001: 1}


def test_a_private_store_has_no_open_doors_and_behind_one_none_is_looked_for(store: str) -> None:
    os.chmod(os.path.join(store, "logs"), 0o755)
    assert premises.open_doors(store) == []
    os.chmod(store, 0o711)
    assert premises.open_doors(store) == [store, os.path.join(store, "logs")]


def test_the_file_system_has_a_name(store: str) -> None:
    assert premises.file_system(store)
    assert premises.file_system(os.path.join(store, "nowhere")) == ""

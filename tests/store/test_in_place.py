"""Whether a store that is open is still the one that others would open."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from inturn.core.layout import DATABASE
from inturn.store.db import Store
from tests.builders import new_store


def test_a_store_that_is_used_is_in_place(store: Store, tmp_path: Path) -> None:
    assert store.is_in_place()
    other = new_store(tmp_path)
    with other.writing():
        other.execute("UPDATE owners SET accepting = 0")
    other.close()
    assert store.is_in_place()


def test_one_that_was_removed_or_moved_is_not(store: Store, tmp_path: Path) -> None:
    moved = tmp_path.with_name("moved")
    os.rename(tmp_path, moved)
    assert not store.is_in_place()
    os.rename(moved, tmp_path)
    assert store.is_in_place()
    shutil.rmtree(tmp_path)
    assert not store.is_in_place()
    tmp_path.write_text("no directory")
    assert not store.is_in_place()


def test_one_that_was_replaced_is_not(store: Store, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copyfile(tmp_path / DATABASE, copy)
    os.replace(copy, tmp_path / DATABASE)
    assert not store.is_in_place()


def test_what_may_not_be_begun_is_refused_before_it_locks_anything(store: Store, tmp_path: Path) -> None:
    def refuse() -> None:
        raise PermissionError

    store.before_writing = refuse
    with pytest.raises(PermissionError):
        store.writing()
    other = new_store(tmp_path)
    with other.writing():
        pass
    other.close()

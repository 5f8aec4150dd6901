from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw
import pytest

from inturn.store.backup import back_up
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

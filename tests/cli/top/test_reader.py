from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inturn.app import open_context
from inturn.cli.top.model import Snapshot, Wanted
from inturn.cli.top.reader import Reader
from inturn.service.context import Context
from tests.e2e.harness import until
from tests.service.scene import Scene


class Watcher:
    """A reader, and what it has told."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.told: list[Snapshot] = []
        self.problems: list[Exception] = []
        self.reader = Reader(self._reopen, self.told.append)
        self.reader.start()

    def _reopen(self) -> Context:
        if self.problems:
            raise self.problems.pop()
        return open_context(str(self._directory), None, False, lambda _: None)

    def sees(self, what: str, holds: Callable[[Snapshot], bool]) -> Snapshot:
        """Wait for a snapshot of which this is true, from those to come and the last one."""
        seen = until(lambda: next((it for it in self.told[-1:] if holds(it)), None), what)
        assert seen is not None
        return seen

    def sees_ever(self, what: str, holds: Callable[[Snapshot], bool]) -> None:
        """Wait until there was a snapshot of which this is true."""
        until(lambda: any(map(holds, self.told)), what)

    def stop(self) -> None:
        self.reader.stop()
        self.reader.join(60)
        assert not self.reader.is_alive()


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    """Looks at a store that may not be there yet."""
    watcher = Watcher(tmp_path / "store")
    yield watcher
    watcher.stop()


def _ids(snapshot: Snapshot) -> list[int]:
    return [view.job.id for view in snapshot.page.views]


def test_a_store_is_seen_as_soon_as_it_is_made_and_as_it_changes(tmp_path: Path, watcher: Watcher) -> None:
    watcher.sees("that there is none", lambda it: "there is no store" in it.problem)
    assert not (tmp_path / "store").exists()
    scene = Scene(tmp_path / "store")
    first = scene.submit()
    watcher.sees("the first job", lambda it: _ids(it) == [first] and not it.problem)
    second = scene.submit()
    watcher.sees("the second job", lambda it: _ids(it) == [second, first])
    scene.close()


def test_a_store_that_vanishes_and_one_in_its_place_are_noticed(tmp_path: Path, watcher: Watcher) -> None:
    scene = Scene(tmp_path / "store")
    for _ in range(3):
        scene.submit()
    watcher.sees("the jobs", lambda it: len(_ids(it)) == 3)
    shutil.rmtree(tmp_path / "store")
    watcher.sees("that it is gone", lambda it: bool(it.problem) and not _ids(it))
    scene.close()
    another = Scene(tmp_path / "store")
    watcher.sees("an empty one", lambda it: not it.problem)
    job = another.submit()
    watcher.sees("its job", lambda it: _ids(it) == [job])
    another.close()


def test_a_damaged_store_is_a_message(tmp_path: Path, watcher: Watcher) -> None:
    scene = Scene(tmp_path / "store")
    scene.submit()
    watcher.sees("the job", lambda it: len(_ids(it)) == 1)
    scene.close()
    for file in (tmp_path / "store").glob("inturn.db*"):
        file.unlink()
    (tmp_path / "store" / "inturn.db").write_bytes(b"no database" * 1000)
    (tmp_path / "store" / "inturn.db").chmod(0o600)
    watcher.sees("what is wrong", lambda it: "database" in it.problem)


def test_what_nobody_has_foreseen_is_a_message_and_it_looks_again(tmp_path: Path, watcher: Watcher) -> None:
    watcher.problems.append(ValueError("odd"))
    watcher.sees_ever("what is wrong", lambda it: it.problem == "unexpected ValueError: odd")
    scene = Scene(tmp_path / "store")
    job = scene.submit()
    watcher.sees("the job", lambda it: _ids(it) == [job] and not it.problem)
    scene.close()


def test_who_writes_does_not_keep_it_from_looking(tmp_path: Path, watcher: Watcher) -> None:
    scene = Scene(tmp_path / "store")
    job = scene.submit()
    with scene.store.writing():
        watcher.reader.want(Wanted(selected=job))
        watcher.sees("the job", lambda it: it.detail is not None and it.detail.job.id == job)
    scene.close()


def test_what_is_wanted_is_read(tmp_path: Path, watcher: Watcher) -> None:
    scene = Scene(tmp_path / "store")
    jobs = [scene.submit(name) for name in ("one", "two", "three")]
    writer = scene.start(jobs[0])
    writer.write(out=b"hello\n")
    watcher.reader.want(Wanted("running", "ON", None, jobs[0]))
    seen = watcher.sees("its log", lambda it: it.detail is not None and it.detail.tail.data != b"")
    assert _ids(seen) == [jobs[0]]
    assert seen.detail is not None
    assert seen.detail.tail.data == b"hello\n"
    assert seen.detail.reasons
    writer.write(out=b"again\n")
    watcher.sees("more", lambda it: it.detail is not None and it.detail.tail.data == b"hello\nagain\n")
    watcher.reader.want(Wanted(below=jobs[2], selected=99))
    seen = watcher.sees("older jobs", lambda it: it.wanted.below == jobs[2])
    assert (_ids(seen), seen.detail) == ([jobs[1], jobs[0]], None)
    writer.close()
    scene.close()

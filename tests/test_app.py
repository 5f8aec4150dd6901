"""What is settled in passing by whoever comes by: it never fails what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from inturn import app
from inturn.core.moment import MILLISECOND
from inturn.host import clock
from inturn.store import overdue
from tests.e2e.harness import until
from tests.service.scene import Scene
from tests.tapped import tapped


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A store in which the time of a job that belongs to nobody is over."""
    scene = Scene(tmp_path / "store")
    scene.add(job_timeout=MILLISECOND)
    until(lambda: overdue.pending(scene.store, clock.now()), "something overdue")
    yield scene
    scene.close()


def tend(scene: Scene) -> None:
    app.tend(scene.context, [1])


def tidy(scene: Scene) -> None:
    app.tidy(scene.context, thorough=False)


def tidy_thoroughly(scene: Scene) -> None:
    app.tidy(scene.context)


@pytest.mark.parametrize("pass_by", [tend, tidy, tidy_thoroughly])
def test_what_a_busy_store_does_not_let_settle_is_left_to_the_next(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, pass_by: Callable[[Scene], None]
) -> None:
    monkeypatch.setattr("inturn.store.db.BUSY_DEADLINE", 0)
    other = Scene(scene.directory)
    with other.store.writing():
        pass_by(scene)
    assert scene.job(1).phase == "queued"
    pass_by(scene)
    assert scene.job(1).reason == "job_timeout"
    other.close()


@pytest.mark.parametrize("pass_by", [tend, tidy, tidy_thoroughly])
def test_what_a_full_disk_does_not_let_settle_is_left_to_the_next(
    scene: Scene, pass_by: Callable[[Scene], None]
) -> None:
    def fail(sql: str) -> None:
        if not sql.startswith(("BEGIN", "SELECT", "ROLLBACK", "PRAGMA")):
            raise apsw.FullError("database or disk is full")

    with tapped(scene.store, fail):
        pass_by(scene)
    assert scene.job(1).phase == "queued"
    pass_by(scene)
    assert scene.job(1).reason == "job_timeout"

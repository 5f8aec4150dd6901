from __future__ import annotations

from inturn.core.job import Job
from inturn.core.transitions import Event
from inturn.core.views import Filters
from inturn.service import board
from inturn.service.board import Page
from tests.service.scene import Scene


def _page(scene: Scene, rows: int = 3, text: str = "", **filters: object) -> Page:
    return board.page(scene.context, Filters()._replace(**filters), text, rows)  # type: ignore[arg-type]


def _ids(page: Page) -> list[int]:
    return [view.job.id for view in page.views]


def test_page_after_page_every_job_is_shown(scene: Scene) -> None:
    made = [scene.submit() for _ in range(7)]
    seen: list[int] = []
    below: int | None = None
    while True:
        page = _page(scene, below=below)
        seen += _ids(page)
        if page.older is None:
            break
        below = page.older
    assert seen == made[::-1]


def test_active_jobs_come_first_and_once(scene: Scene) -> None:
    made = [scene.submit() for _ in range(5)]
    scene.start(made[0]).close()
    scene.start(made[4]).close()
    page = _page(scene)
    assert (_ids(page), page.pinned) == ([made[4], made[0], made[3]], 2)
    assert _ids(_page(scene, below=page.older)) == [made[2], made[1], made[0]]


def test_statuses_and_texts_filter(scene: Scene) -> None:
    made = [scene.submit(name) for name in ("Alpha", "beta", None)]
    scene.start(made[0]).close()
    assert _ids(_page(scene, statuses=("queued",))) == made[:0:-1]
    assert _ids(_page(scene, text="ALPH")) == [made[0]]
    assert _ids(_page(scene, text=str(made[2]))) == [made[2]]
    assert _ids(_page(scene, text="true")) == made[::-1]
    assert _page(scene, text="nowhere") == Page()


def test_without_a_store_there_is_nothing(scene: Scene) -> None:
    assert board.page(scene.context._replace(store=None), Filters(), "", 3) == Page()


def test_what_ended_is_as_good_as_what_waits(scene: Scene) -> None:
    ended: Job = scene.succeed(scene.submit())
    cancelled = scene.submit()
    scene.happen(cancelled, Event("cancelled", "completed", "requested", "cancelled"))
    assert _ids(_page(scene)) == [cancelled, ended.id]

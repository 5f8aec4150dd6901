"""What a look costs does not grow with the number of jobs: counted in SQLite's steps, not in time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inturn.core.explain_line import COUNTED
from inturn.core.spec import Spec, Submission
from inturn.core.views import Filters
from inturn.service import enqueue, query
from inturn.store import owners, settings
from inturn.store.settings import Pool
from tests.builders import START, add_owner, admit, finish
from tests.service.scene import Scene

SPEC = Spec((b"true",), b"/", (), 0o077)


def add(scene: Scene, count: int, **fields: object) -> list[int]:
    """So many queued jobs, in one submission."""
    return enqueue.add(scene.context, [Submission(SPEC, queue="default", **fields)] * count)  # type: ignore[arg-type]


def add_finished(scene: Scene, count: int) -> None:
    """So many that have been run, by a worker that is there no more."""
    ids = add(scene, count)
    with scene.store.writing():
        worker = add_owner(scene.store, f"worker-{ids[0]}", "worker")
        for job_id in ids:
            finish(scene.store, admit(scene.store, scene.job(job_id), worker), worker)
        owners.bury(scene.store, worker, START)


def steps(scene: Scene, look: Callable[[], object]) -> int:
    """How many steps SQLite takes for a look."""
    taken = 0

    def tick() -> bool:
        nonlocal taken
        taken += 1
        return False

    scene.store.connection.set_progress_handler(tick, 1)
    try:
        look()
    finally:
        scene.store.connection.set_progress_handler(None)
    return taken


@pytest.fixture
def limited(scene: Scene) -> Scene:
    """A store with a limit, so that there is one line for all."""
    with scene.store.writing():
        settings.set_pool(scene.store, Pool("", 1, False))
    return scene


LOOKS: dict[str, Callable[[Scene], object]] = {
    "status": lambda scene: query.totals(scene.context),
    "list": lambda scene: query.listing(scene.context, Filters(), 50, True, lambda view: view.job.id),
    "status of a job": lambda scene: query.look_at(scene.context, ["3"], True),
    "show": lambda scene: query.describe(scene.context, "3"),
    "why": lambda scene: query.why(scene.context, "3"),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("fields", [{}, {"delay": 3_600_000_000}], ids=["in line", "delayed"])
def test_a_look_at_many_jobs_takes_as_many_steps_as_one_at_few(
    limited: Scene, look: Callable[[Scene], object], fields: dict[str, int]
) -> None:
    add(limited, 100)
    few = steps(limited, lambda: look(limited))
    add(limited, 3000, **fields)
    assert steps(limited, lambda: look(limited)) <= few * 1.1 + 20


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_look_takes_as_many_steps_after_many_finished_jobs_as_after_few(
    limited: Scene, look: Callable[[Scene], object]
) -> None:
    add(limited, 10)
    add_finished(limited, 100)
    few = steps(limited, lambda: look(limited))
    add_finished(limited, 3000)
    assert steps(limited, lambda: look(limited)) <= few * 1.1 + 20


def test_the_place_of_a_job_far_back_in_line_is_not_counted_to_the_end(limited: Scene) -> None:
    last = str(add(limited, COUNTED + 5)[-1])
    far = steps(limited, lambda: query.why(limited.context, last))
    _, (*_, standing) = query.why(limited.context, last)
    assert standing.message.startswith(f"it is beyond number {COUNTED} in line, after job 1, ")
    add(limited, 5000, priority=1)
    assert steps(limited, lambda: query.why(limited.context, last)) <= far * 1.1


def test_adding_one_more_job_takes_as_many_steps_as_the_first(limited: Scene) -> None:
    add(limited, 100)
    few = steps(limited, lambda: add(limited, 1))
    add(limited, 3000)
    # The trees of the tables have grown by a level at most.
    assert steps(limited, lambda: add(limited, 1)) <= few * 1.1 + 20

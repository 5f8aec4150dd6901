from __future__ import annotations

from inturn.service import estimate
from inturn.service.estimate import History
from tests.service.scene import Scene


def test_jobs_without_earlier_ones_have_no_history(scene: Scene) -> None:
    job = scene.job(scene.submit("new"))
    assert History(scene.context).look([job, scene.job(scene.submit())]) == (
        [job, scene.job(2)],
        {},
    )


def test_what_earlier_jobs_of_the_same_name_took_is_known(scene: Scene) -> None:
    for _ in range(2):
        scene.succeed(scene.submit("train"))
    waits = scene.job(scene.submit("train"))
    _, known = History(scene.context).look([waits])
    assert known["train"].runs == 2
    assert known["train"].median >= 0


def test_a_name_that_comes_later_is_looked_up_at_once(scene: Scene) -> None:
    for name in ("first", "second"):
        scene.succeed(scene.submit(name))
    first, second = (scene.job(scene.submit(name)) for name in ("first", "second"))
    history = History(scene.context)
    assert set(history.look([first])[1]) == {"first"}
    assert set(history.look([first, second])[1]) == {"first", "second"}


def test_of_very_many_names_only_some_are_looked_up(scene: Scene) -> None:
    scene.succeed(scene.submit("last"))
    waiting = [scene.job(scene.submit(f"n{number}")) for number in range(estimate.MOST_NAMES)]
    assert History(scene.context).look([*waiting, scene.job(scene.submit("last"))])[1] == {}


def test_a_job_that_is_repeated_has_been_running_since_its_present_run(scene: Scene) -> None:
    job = scene.submit("again")
    scene.start(job).close()
    scene.end(job, "failure", repeat=True)
    run = scene.start(job)
    run.close()
    (seen,), _ = History(scene.context).look([scene.job(job)])
    second = scene.run(job, 2).started_at
    first = scene.job(job).started_at
    assert first is not None
    assert second is not None
    assert seen.started_at == second > first

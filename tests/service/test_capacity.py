from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from inturn.core.admission import STORE
from inturn.errors import InturnError
from inturn.host import clock
from inturn.service import capacity, query
from inturn.store import settings
from inturn.store.settings import Applied, Pool
from tests.service.scene import Scene


def _limits(scene: Scene) -> dict[str, int | None]:
    return {pool.name: pool.slots for pool in settings.pools(scene.store)}


def _declare(scene: Scene, name: str) -> None:
    with scene.store.writing():
        settings.set_pool(scene.store, Pool(name, 2, True))
        settings.note_applied(scene.store, Applied("/etc/inturn.yml", "", (0, 0, 0), "", clock.now().wall))


def test_a_pool_is_created_changed_and_removed(scene: Scene) -> None:
    capacity.set_pool(scene.context, "analysis", 2)
    assert _limits(scene) == {"analysis": 2}
    capacity.set_pool(scene.context, "analysis", None)
    assert _limits(scene) == {"analysis": None}
    capacity.remove_pool(scene.context, "analysis")
    assert _limits(scene) == {}


def test_the_store_wide_limit_is_set_and_lifted(scene: Scene) -> None:
    capacity.set_limit(scene.context, 3)
    assert _limits(scene) == {STORE: 3}
    capacity.set_limit(scene.context, None)
    assert _limits(scene) == {}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("p", lambda context: capacity.set_pool(context, "p", 3)),
        ("p", lambda context: capacity.remove_pool(context, "p")),
        (STORE, lambda context: capacity.set_limit(context, 3)),
        (STORE, lambda context: capacity.set_limit(context, None)),
    ],
)
def test_what_the_file_declares_is_changed_in_the_file(
    scene: Scene, name: str, change: Callable[[Any], None]
) -> None:
    _declare(scene, name)
    with pytest.raises(InturnError) as caught:
        change(scene.context)
    assert caught.value.code == "conflict"
    assert "/etc/inturn.yml" in caught.value.message
    assert _limits(scene) == {name: 2}


@pytest.mark.parametrize("name", ["", "-p", "a b", "(store)", "x" * 65, "é", "p\n"])
def test_what_cannot_name_a_pool_is_refused(scene: Scene, name: str) -> None:
    with pytest.raises(InturnError) as caught:
        capacity.set_pool(scene.context, name, 1)
    assert caught.value.code == "invalid_value"
    assert _limits(scene) == {}


def test_a_pool_that_does_not_exist_cannot_be_removed(scene: Scene) -> None:
    with pytest.raises(InturnError, match='there is no pool "p"') as caught:
        capacity.remove_pool(scene.context, "p")
    assert caught.value.code == "unknown_pool"


def test_a_pool_that_live_jobs_name_is_kept(scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 1)
    job = scene.submit()
    with scene.store.writing():
        scene.store.execute("UPDATE jobs SET pool = 'p' WHERE id = ?", (job,))
    with pytest.raises(InturnError, match="1 live jobs name it"):
        capacity.remove_pool(scene.context, "p")
    scene.succeed(job)
    capacity.remove_pool(scene.context, "p")


def test_lowering_below_what_is_in_use_stops_nothing(scene: Scene) -> None:
    capacity.set_limit(scene.context, 2)
    running = [scene.submit(), scene.submit()]
    for job in running:
        scene.start(job).close()
    capacity.set_limit(scene.context, 1)
    assert [scene.job(job).phase for job in running] == ["running", "running"]
    (store,) = query.capacities(scene.context)
    assert (store.slots, store.used, store.free) == (1, 2, 0)


def test_whoever_fits_after_a_raise_is_woken(scene: Scene) -> None:
    capacity.set_limit(scene.context, 1)
    scene.start(scene.submit()).close()
    scene.submit()
    scene.rung.clear()
    capacity.set_limit(scene.context, 2)
    assert scene.rung == ["owner-1"]

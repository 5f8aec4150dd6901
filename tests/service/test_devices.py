"""A job gets distinct devices of its pool, so that it can never have more than there are."""

from __future__ import annotations

import pytest

from inturn.core.spec import Submission
from inturn.errors import InturnError
from inturn.service import enqueue
from inturn.store import settings
from inturn.store.settings import Pool
from tests.builders import make_spec
from tests.service.scene import Scene


@pytest.fixture
def two_devices(scene: Scene) -> None:
    """Two devices, each of which two jobs may share."""
    with scene.store.writing():
        settings.set_pool(scene.store, Pool("gpu", 4, False, ("0", "1"), per_device=2))


@pytest.mark.usefixtures("two_devices")
def test_a_job_that_asks_for_more_devices_than_there_are_is_refused(scene: Scene) -> None:
    wanted = Submission(make_spec(), queue="default", pool="gpu", slots=3)
    with pytest.raises(InturnError, match="3 slots can never be given: pool 'gpu' has 2") as refused:
        enqueue.add(scene.context, [wanted])
    assert refused.value.code == "impossible"
    assert scene.store.row("SELECT count(*) FROM jobs")[0] == 0


@pytest.mark.usefixtures("two_devices")
def test_a_job_that_asks_for_all_of_them_is_accepted(scene: Scene) -> None:
    wanted = Submission(make_spec(), queue="default", pool="gpu", slots=2)
    assert enqueue.add(scene.context, [wanted]) == [1]

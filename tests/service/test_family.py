from __future__ import annotations

from inturn.service import family
from inturn.service.family import Kin
from tests.service.scene import Scene


def _ids(kin: Kin) -> object:
    return [(one.job.id, _ids(one)) for one in kin.kin]


def test_both_directions_are_followed_to_the_end(scene: Scene) -> None:
    first = scene.add()
    second = scene.add(after_success=first)
    third = scene.add(after_success=second)
    found = family.family(scene.context, second)
    assert found is not None
    assert (_ids(found.above), _ids(found.below), found.waiting) == ([(first, [])], [(third, [])], 1)
    found = family.family(scene.context, first)
    assert found is not None
    assert _ids(found.below) == [(second, [(third, [])])]
    assert found.below.kin[0].outcomes == ("success",)


def test_a_large_family_is_counted_and_not_shown(scene: Scene) -> None:
    first = scene.add()
    for _ in range(20):
        scene.add(after_success=first)
    found = family.family(scene.context, first)
    assert found is not None
    assert (len(found.below.kin), found.below.more, found.waiting) == (12, 8, 20)


def test_a_long_one_is_cut(scene: Scene) -> None:
    ids = [scene.add()]
    for _ in range(8):
        ids.append(scene.add(after_success=ids[-1]))
    found = family.family(scene.context, ids[0])
    depth = 0
    assert found is not None
    kin = found.below
    while kin.kin:
        kin, depth = kin.kin[0], depth + 1
    assert (depth, kin.more) == (5, 1)


def test_of_a_job_that_is_not_there_nothing_is_known(scene: Scene) -> None:
    assert family.family(scene.context, 99) is None
    assert family.family(scene.context._replace(store=None), 1) is None

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inturn.core.transitions import Event
from inturn.errors import InturnError
from inturn.service.select import CANDIDATES, resolve, resolve_many
from tests.service.scene import Scene


def _refused(scene: Scene, selector: str) -> InturnError:
    with pytest.raises(InturnError) as caught:
        resolve(scene.context, selector)
    return caught.value


def test_digits_are_an_id(scene: Scene) -> None:
    job = scene.submit()
    assert resolve(scene.context, str(job)) == job
    assert resolve(scene.context, f"00{job}") == job


@pytest.mark.parametrize("selector", ["999999", "0", "9" * 19, "9" * 5000, "x", "-1", "", "x@latest", "²"])
def test_what_means_no_job_is_not_found(scene: Scene, selector: str) -> None:
    scene.submit("y")
    assert _refused(scene, selector).code == "not_found"


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\udcff\ud800"), max_size=8))
def test_no_word_of_the_command_line_is_an_accident(
    tmp_path_factory: pytest.TempPathFactory, word: str
) -> None:
    scene = Scene(tmp_path_factory.mktemp("store") / "s")
    assert _refused(scene, word).code == "not_found"
    assert _refused(scene, word).message.isprintable()
    scene.close()


def test_a_name_that_one_job_has_means_it_even_when_it_has_ended(scene: Scene) -> None:
    job = scene.submit("prepare")
    assert resolve(scene.context, "prepare") == job
    scene.succeed(job)
    assert resolve(scene.context, "prepare") == job


def test_of_several_jobs_the_only_one_that_has_not_ended_is_meant(scene: Scene) -> None:
    old, live, older = scene.submit("x"), scene.submit("x"), scene.submit("x")
    scene.succeed(old)
    scene.happen(older, Event("cancelled", "completed", "requested", "cancelled"))
    assert resolve(scene.context, "x") == live


def test_several_live_jobs_of_a_name_are_ambiguous_and_are_told(scene: Scene) -> None:
    first, second = scene.submit("x"), scene.submit("x")
    scene.start(first).close()
    error = _refused(scene, "x")
    assert error.code == "ambiguous"
    assert f"{second} (queued), {first} (running)" in error.message
    assert "x@latest" in error.hint


def test_several_ended_jobs_of_a_name_are_ambiguous(scene: Scene) -> None:
    ids = [scene.submit("x") for _ in range(2)]
    for job in ids:
        scene.succeed(job)
    assert f"{ids[1]} (success), {ids[0]} (success)" in _refused(scene, "x").message


def test_the_live_are_told_before_the_ended_and_not_more_than_ten(scene: Scene) -> None:
    live = [scene.submit("x") for _ in range(2)]
    for _ in range(CANDIDATES):
        scene.succeed(scene.submit("x"))
    message = _refused(scene, "x").message
    assert f": {live[1]} (queued), {live[0]} (queued), " in message
    assert message.count("(") == CANDIDATES
    assert message.endswith(", …")


def test_latest_means_the_newest_whatever_became_of_it(scene: Scene) -> None:
    scene.submit("x")
    newest = scene.submit("x")
    scene.succeed(newest)
    assert resolve(scene.context, "x@latest") == newest


def test_a_job_that_is_called_so_goes_before_the_newest_of_a_name(scene: Scene) -> None:
    odd = scene.submit("x@latest")
    scene.submit("x")
    assert resolve(scene.context, "x@latest") == odd


def test_several_selectors_give_each_job_once_in_their_order(scene: Scene) -> None:
    one, two = scene.submit("one"), scene.submit("two")
    assert resolve_many(scene.context, ["two", str(one), "one", str(two)]) == [two, one]


def test_where_there_is_no_store_there_is_no_job(scene: Scene) -> None:
    nowhere = scene.context._replace(store=None)
    with pytest.raises(InturnError, match='there is no job "7"'):
        resolve(nowhere, "7")


def test_a_selector_is_resolved_inside_a_transaction_that_is_open(scene: Scene) -> None:
    job = scene.submit("x")
    with scene.store.writing():
        assert resolve(scene.context, "x") == job
    with scene.store.reading():
        assert resolve(scene.context, "x") == job

from __future__ import annotations

from typing import Any

import pytest

from inturn.core.edit import Changes
from inturn.core.moment import HOUR, SECOND
from inturn.core.spec import Spec, Submission
from inturn.errors import InturnError
from inturn.service import acting, capacity, edit, enqueue, pausing
from inturn.service.acting import Acted
from inturn.store import admissions, reads, specs
from tests.builders import counted, tallies
from tests.service.scene import Scene

SPEC = Spec((b"true",), b"/", (), 0o077, note="old")


def add(scene: Scene, **fields: Any) -> int:
    (job_id,) = enqueue.add(scene.context, [Submission(**{"spec": SPEC, "queue": "q", **fields})])
    return job_id


def edited(scene: Scene, job_id: int, **fields: Any) -> None:
    (acted,) = edit.edit(scene.context, [job_id], Changes(**fields))
    assert acted == Acted(scene.job(job_id))


def refused(scene: Scene, *job_ids: int, **fields: Any) -> str:
    with pytest.raises(InturnError) as caught:
        edit.edit(scene.context, job_ids, Changes(**fields))
    return caught.value.code


def test_everything_can_be_changed_before_the_start(scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 4)
    job_id = add(scene)
    edited(
        scene, job_id, priority=3, queue="slow", pool="p", slots=2, delay=HOUR, name="n", note="new",
        argv=(b"printf", b"\xff"),
    )  # fmt: skip
    job = scene.job(job_id)
    assert (job.priority, job.queue, job.pool, job.slots, job.name) == (3, "slow", "p", 2, "n")
    assert job.status == "scheduled"
    spec = specs.load(scene.store, job_id)
    assert spec == SPEC._replace(argv=(b"printf", b"\xff"), note="new")
    assert tallies(scene.store) == counted(scene.store) == {("slow", "p", "scheduled"): 1}
    edited(scene, job_id, pool="", note="", delay=0)
    assert (scene.job(job_id).pool, scene.job(job_id).status) == ("", "queued")
    assert specs.load(scene.store, job_id).note is None


def test_an_edit_stands_in_the_ledger_with_what_was_changed(scene: Scene) -> None:
    job_id = scene.submit()
    revision = scene.job(job_id).revision
    scene.rung.clear()
    edited(scene, job_id, priority=3, slots=1)
    last = list(reads.events(scene.store, 0, job_id, None))[-1]
    assert (last.kind, last.source, last.target, last.reason) == (
        "edited", "queued", "queued", "priority, slots",
    )  # fmt: skip
    assert scene.job(job_id).revision == revision + 1
    assert scene.rung == ["owner-0"]


def test_the_place_in_line_follows_at_once(scene: Scene) -> None:
    first, second = add(scene), add(scene)
    assert [one.request.job_id for one in admissions.heads(scene.store)] == [first]
    edited(scene, second, priority=1)
    assert [one.request.job_id for one in admissions.heads(scene.store)] == [second]
    edited(scene, second, delay=HOUR)
    assert [one.request.job_id for one in admissions.heads(scene.store)] == [first]


def test_who_fits_after_an_edit_is_woken(scene: Scene) -> None:
    capacity.set_limit(scene.context, 2)
    for _ in range(2):
        scene.submit()
    with scene.store.writing():
        scene.store.execute("UPDATE jobs SET slots = 2 WHERE id = 1")
    scene.start(2).close()
    scene.rung.clear()
    edited(scene, 1, slots=1)
    assert "owner-0" in scene.rung


@pytest.mark.parametrize("gated", [True, False])
def test_a_paused_job_can_be_edited_and_stays_paused(scene: Scene, gated: bool) -> None:
    job_id = scene.submit(gated=gated)
    pausing.pause(scene.context, [job_id])
    edited(scene, job_id, priority=2)
    assert (scene.job(job_id).phase, scene.job(job_id).priority) == ("paused", 2)


def test_what_has_started_or_ended_is_as_it_is(scene: Scene) -> None:
    running, paused, ended, queued = (scene.submit() for _ in range(4))
    for job_id in (running, paused):
        scene.start(job_id).close()
    pausing.pause(scene.context, [paused])
    scene.succeed(ended)
    acted = edit.edit(scene.context, [running, paused, ended], Changes(priority=2))
    refusal = acting.refusal(acted, "edited", "")
    assert refusal is not None
    assert refusal.code == "conflict"
    acted = edit.edit(scene.context, [running, queued], Changes(priority=2))
    assert [(bool(one.refusal), one.job.priority) for one in acted] == [(True, 0), (False, 2)]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"pool": "nowhere"}, "unknown_pool"),
        ({"pool": "p", "slots": 5}, "impossible"),
        ({"slots": 9}, "impossible"),
        ({"delay": 3 * HOUR}, "invalid_value"),
        ({"queue": "q"}, "usage"),
    ],
)
def test_what_a_submission_would_refuse_changes_nothing_at_all(
    scene: Scene, fields: dict[str, object], code: str
) -> None:
    capacity.set_pool(scene.context, "p", 4)
    capacity.set_limit(scene.context, 8)
    plain = add(scene)
    timed = add(scene, spec=SPEC._replace(job_timeout=2 * HOUR)) if "delay" in fields else scene.submit()
    before = [scene.job(plain), scene.job(timed)]
    ledger = scene.store.row("SELECT count(*) FROM events")
    assert refused(scene, plain, timed, argv=(b"other",), **fields) == code
    assert [scene.job(plain), scene.job(timed)] == before
    assert specs.load(scene.store, plain) == SPEC
    assert scene.store.row("SELECT count(*) FROM events") == ledger


def test_a_job_whose_pool_has_shrunk_can_still_be_given_another_priority(scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 4)
    job_id = add(scene, pool="p", slots=4)
    capacity.set_pool(scene.context, "p", 2)
    edited(scene, job_id, priority=1)
    assert refused(scene, job_id, slots=3) == "impossible"
    edited(scene, job_id, slots=2)


def test_a_deadline_is_kept_when_the_delay_changes(scene: Scene) -> None:
    job_id = add(scene, spec=SPEC._replace(job_timeout=HOUR))
    before = scene.store.row("SELECT * FROM deadlines WHERE job_id = ?", (job_id,))
    edited(scene, job_id, delay=60 * SECOND)
    assert scene.store.row("SELECT * FROM deadlines WHERE job_id = ?", (job_id,)) == before


def test_with_an_unknown_job_nothing_is_changed(scene: Scene) -> None:
    job_id = add(scene)
    assert refused(scene, job_id, 99, priority=1) == "not_found"
    assert scene.job(job_id).priority == 0

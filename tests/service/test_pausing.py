from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from inturn.core.held import Held, Lane
from inturn.core.job import IN_LINE, NOT_IN_LINE
from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.transitions import Event
from inturn.errors import InturnError
from inturn.service import acting, capacity, control, pausing, query
from inturn.service.acting import Acted
from inturn.store import held, overdue, reads
from tests.builders import insert_gates
from tests.e2e.harness import until
from tests.service.scene import Scene


def elsewhere(scene: Scene, act: Callable[[Scene], object]) -> threading.Thread:
    """Do something in the way of another process: with a connection of its own."""

    def work() -> None:
        other = Scene(scene.directory)
        act(other)
        other.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def ledger(scene: Scene, job_id: int) -> list[tuple[str, str | None, str]]:
    return [(one.kind, one.source, one.target) for one in reads.events(scene.store, 0, job_id, None)]


def codes(scene: Scene, job_id: int) -> list[str]:
    _, found = query.why(scene.context, str(job_id))
    return [reason.code for reason in found]


# --- pause


@pytest.mark.parametrize("gated", [True, False])
def test_what_has_no_target_leaves_the_line_and_is_left_alone(scene: Scene, gated: bool) -> None:
    job_id = scene.submit(gated=gated)
    before = scene.job(job_id)
    (acted,) = pausing.pause(scene.context, [job_id])
    assert acted == Acted(scene.job(job_id), "")
    paused = acted.job
    assert (paused.phase, paused.held_phase, paused.in_line) == ("paused", before.phase, NOT_IN_LINE)
    assert (paused.owner, paused.due) == (before.owner, before.due)
    assert reads.admission(scene.store, job_id) is None
    assert ledger(scene, job_id)[-1] == ("paused", before.phase, "paused")
    assert "owner-0" in scene.rung


def test_what_runs_keeps_its_slots_and_its_time_stands_still(scene: Scene) -> None:
    job_id = scene.submit()
    scene.start(job_id).close()
    (acted,) = pausing.pause(scene.context, [job_id])
    assert (acted.job.phase, acted.job.held_phase) == ("paused", "running")
    assert reads.admission(scene.store, job_id) is not None
    assert acted.job.watch.boot == ""
    assert scene.run(job_id, 1).watch.boot == ""
    assert "owner-0" in scene.rung


def test_it_is_told_why_it_does_not_run_and_what_would_change_that(scene: Scene) -> None:
    waiting, queued, running = scene.submit(gated=True), scene.submit(), scene.submit()
    scene.start(running).close()
    pausing.pause(scene.context, [waiting, queued, running])
    told = {}
    for job_id in (waiting, queued, running):
        _, found = query.why(scene.context, str(job_id))
        (told[job_id],) = (one for one in found if one.code == "paused")
        assert told[job_id].fix == f"inturn resume {job_id}"
    assert "not looked at" in told[waiting].message
    assert "in no line" in told[queued].message
    assert "keeps its slots" in told[running].message


def test_who_stood_behind_a_paused_job_is_woken(scene: Scene) -> None:
    capacity.set_limit(scene.context, 1)
    first, _ = scene.submit(), scene.submit()
    scene.rung.clear()
    pausing.pause(scene.context, [first])
    assert "owner-1" in scene.rung


def test_what_is_being_started_is_paused_a_moment_later(scene: Scene) -> None:
    job_id = scene.submit()
    scene.admit(job_id)
    answers: list[Acted] = []
    other = elsewhere(scene, lambda there: answers.extend(pausing.pause(there.context, [job_id])))
    scene.happen(job_id, Event("started", "running", run=scene.run(job_id, 1)._replace(native_id="x")))
    other.join()
    assert [(one.job.held_phase, one.refusal) for one in answers] == [("running", "")]


def test_what_does_not_get_started_cannot_be_paused(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "_PATIENCE", 50 * MILLISECOND)
    starting, waiting = scene.submit(), scene.submit(gated=True)
    scene.admit(starting)
    acted = pausing.pause(scene.context, [starting, waiting])
    assert [bool(one.refusal) for one in acted] == [True, False]
    assert [scene.job(job_id).phase for job_id in (starting, waiting)] == ["starting", "paused"]


def test_what_is_paused_stopping_or_ended_is_a_conflict_and_is_left_as_it_is(scene: Scene) -> None:
    paused, stopping, ended = scene.submit(), scene.submit(), scene.submit()
    pausing.pause(scene.context, [paused])
    scene.start(stopping).close()
    control.cancel(scene.context, [stopping])
    scene.succeed(ended)
    before = [scene.job(job_id) for job_id in (paused, stopping, ended)]
    acted = pausing.pause(scene.context, [paused, stopping, ended])
    assert [one.refusal for one in acted] == [
        "it is paused already",
        "it is being stopped",
        "it has ended (success)",
    ]
    assert [scene.job(job_id) for job_id in (paused, stopping, ended)] == before
    refusal = acting.refusal(acted, "paused", "hint")
    assert refusal is not None
    assert (refusal.code, refusal.hint) == ("conflict", "hint")
    more = pausing.pause(scene.context, [ended, scene.submit()])
    refusal = acting.refusal(more, "paused", "hint")
    assert refusal is not None
    assert refusal.code == "incomplete"


def test_with_an_unknown_job_none_is_paused(scene: Scene) -> None:
    job_id = scene.submit()
    with pytest.raises(InturnError) as caught:
        pausing.pause(scene.context, [job_id, 99])
    assert caught.value.code == "not_found"
    assert scene.job(job_id).phase == "queued"


def test_a_store_that_does_not_exist_has_nothing_to_pause(scene: Scene) -> None:
    nowhere = scene.context._replace(store=None)
    for act in (pausing.pause, pausing.resume):
        with pytest.raises(InturnError) as caught:
            act(nowhere, [1])
        assert caught.value.code == "not_found"


# --- resume


def test_it_goes_on_as_what_it_was_at_its_old_place(scene: Scene) -> None:
    waiting, queued, running = scene.submit(gated=True), scene.submit(), scene.submit()
    with scene.store.writing():
        insert_gates(scene.store, waiting, {running: ("success",)}, ())
    scene.start(running).close()
    before = [scene.job(job_id) for job_id in (waiting, queued, running)]
    pausing.pause(scene.context, [waiting, queued, running])
    acted = pausing.resume(scene.context, [waiting, queued, running])
    assert [one.refusal for one in acted] == [""] * 3
    assert [one.job.phase for one in acted] == ["waiting", "queued", "running"]
    assert [one.job.due for one in acted] == [job.due for job in before]
    assert [one.job.in_line for one in acted] == [NOT_IN_LINE, IN_LINE, NOT_IN_LINE]
    assert all(one.job.watch.boot for one in acted)
    assert scene.run(running, 1).watch.boot


def test_paused_time_counts_neither_for_the_job_nor_for_the_run(scene: Scene) -> None:
    job_id = scene.submit()
    scene.start(job_id).close()
    pausing.pause(scene.context, [job_id])
    used = scene.job(job_id).watch.used, scene.run(job_id, 1).watch.used
    paused_at = scene.context.now().mono
    until(lambda: scene.context.now().mono - paused_at > 300 * MILLISECOND, "the time of the pause")
    pausing.resume(scene.context, [job_id])
    assert (scene.job(job_id).watch.used, scene.run(job_id, 1).watch.used) == used


def test_what_is_not_paused_cannot_be_resumed(scene: Scene) -> None:
    queued, ended = scene.submit(), scene.submit()
    scene.succeed(ended)
    acted = pausing.resume(scene.context, [queued, ended])
    assert [one.refusal for one in acted] == ["it is not paused", "it has ended (success)"]


def test_gates_are_not_judged_while_it_is_paused_and_are_on_resume(scene: Scene) -> None:
    parents = [scene.submit(), scene.submit()]
    children = [scene.add(after_success=parent) for parent in parents]
    grandchild = scene.add(after_success=children[1])
    pausing.pause(scene.context, children)
    scene.succeed(parents[0])
    scene.start(parents[1]).close()
    scene.end(parents[1], "failure")
    assert [scene.job(job_id).phase for job_id in children] == ["paused", "paused"]
    acted = pausing.resume(scene.context, children)
    assert [(one.job.phase, one.job.reason) for one in acted] == [
        ("queued", None),
        ("completed", "dependency_unsatisfied"),
    ]
    assert scene.job(grandchild).outcome == "aborted"


def test_the_deadlines_of_a_job_that_nobody_owns_rest_while_it_is_paused(scene: Scene) -> None:
    job_id = scene.add(job_timeout=100 * MILLISECOND)
    pausing.pause(scene.context, [job_id])
    paused_at = scene.context.now().mono
    until(lambda: scene.context.now().mono - paused_at > 300 * MILLISECOND, "more than its time")
    assert not overdue.pending(scene.store, scene.context.now())
    pausing.resume(scene.context, [job_id])
    (ended,) = control.wait_for(scene.context, [job_id], 60 * SECOND)
    assert (ended.outcome, ended.reason) == ("timed_out", "job_timeout")
    assert ended.watch.used < 300 * MILLISECOND


# --- cancel


def test_a_paused_job_without_a_target_is_cancelled_at_once(scene: Scene) -> None:
    jobs = [scene.submit(gated=True), scene.submit()]
    pausing.pause(scene.context, jobs)
    assert [one.verdict for one in control.cancel(scene.context, jobs)] == ["cancelled"] * 2


def test_a_paused_job_with_a_target_is_cancelled_by_stopping_that(scene: Scene) -> None:
    job_id = scene.submit()
    scene.start(job_id).close()
    pausing.pause(scene.context, [job_id])
    (result,) = control.cancel(scene.context, [job_id])
    assert (result.verdict, result.job.phase, result.job.stop_reason) == ("stopping", "stopping", "cancelled")
    assert reads.admission(scene.store, job_id) is not None


# --- whole queues and pools


def test_a_queue_is_held_and_released(scene: Scene) -> None:
    job_id = scene.add()
    lane = Lane("queue", "default")
    assert pausing.hold(scene.context, [lane], False) == ([pausing.LaneActed(lane)], [])
    assert held.load(scene.store) == Held(frozenset({"default"}))
    assert codes(scene, job_id)[0] == "paused"
    assert pausing.hold(scene.context, [lane], False)[0][0].refusal
    assert pausing.release(scene.context, [lane], False) == ([pausing.LaneActed(lane)], [])
    assert "paused" not in codes(scene, job_id)
    assert pausing.release(scene.context, [lane], False)[0][0].refusal


def test_a_queue_that_nobody_has_heard_of_is_held_and_the_user_told(scene: Scene) -> None:
    scene.add()
    pausing.hold(scene.context, [Lane("queue", "default")], False)
    assert scene.notices == []
    for _ in range(2):  # of what is paused already nothing is told anew
        pausing.hold(scene.context, [Lane("queue", "defualt")], False)
    (notice,) = scene.notices
    assert "defualt" in notice
    assert held.load(scene.store) == Held(frozenset({"default", "defualt"}))


def test_a_pool_that_does_not_exist_cannot_be_held(scene: Scene) -> None:
    with pytest.raises(InturnError) as caught:
        pausing.hold(scene.context, [Lane("queue", "q"), Lane("pool", "p")], False)
    assert caught.value.code == "unknown_pool"
    assert held.load(scene.store) == Held()


def test_a_supervised_job_is_told_why_its_pool_does_not_admit_it(scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 4)
    job_id = scene.submit()
    with scene.store.writing():
        scene.store.execute("UPDATE jobs SET pool = 'p' WHERE id = ?", (job_id,))
    assert "paused" not in codes(scene, job_id)
    pausing.hold(scene.context, [Lane("pool", "p")], False)
    _, found = query.why(scene.context, str(job_id))
    assert [one.fix for one in found if one.code == "paused"] == ["inturn resume --pool p"]
    scene.rung.clear()
    pausing.release(scene.context, [Lane("pool", "p")], False)
    assert scene.rung == ["owner-0"]


def test_what_runs_goes_on_unless_it_is_meant_too(scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 4)
    running, queued = scene.submit(), scene.submit()
    with scene.store.writing():
        scene.store.execute("UPDATE jobs SET pool = 'p'")
    scene.start(running).close()
    lane = Lane("pool", "p")
    assert pausing.hold(scene.context, [lane], False)[1] == []
    assert scene.job(running).phase == "running"
    # It is held already, but there is something to do.
    (told,), acted = pausing.hold(scene.context, [lane], True)
    assert (told.refusal, [one.job.id for one in acted]) == ("", [running])
    assert (scene.job(running).phase, scene.job(queued).phase) == ("paused", "queued")
    _, acted = pausing.release(scene.context, [lane], True)
    assert [(one.job.id, one.job.phase) for one in acted] == [(running, "running")]


def test_the_totals_tell_what_is_held(scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 4)
    pausing.hold(scene.context, [Lane("queue", "empty"), Lane("pool", "p")], False)
    found = query.totals(scene.context)
    assert (found.queues, found.paused) == (("empty",), frozenset({"empty"}))
    assert [scope.paused for scope in found.scopes] == [False, True]

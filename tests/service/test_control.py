from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from inturn.core.job import Job
from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.transitions import Event
from inturn.errors import InturnError
from inturn.host import clock
from inturn.service import control
from inturn.store import overdue, reads
from tests.e2e.harness import until
from tests.service.scene import Scene

GENEROUS = 60 * SECOND


def elsewhere(scene: Scene, act: Callable[[Scene], object]) -> threading.Thread:
    """Do something in the way of another process: with a connection of its own."""

    def work() -> None:
        other = Scene(scene.directory)
        act(other)
        other.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def ledger(scene: Scene, job_id: int) -> list[tuple[str, str]]:
    return [(entry.kind, entry.target) for entry in reads.events(scene.store, 0, job_id, None)]


# --- cancel


@pytest.mark.parametrize("gated", [True, False])
def test_a_job_without_a_target_ends_as_cancelled_at_once(scene: Scene, gated: bool) -> None:
    job_id = scene.submit(gated=gated)
    (result,) = control.cancel(scene.context, [job_id])
    assert result.verdict == "cancelled"
    assert result.job == scene.job(job_id)
    assert (result.job.phase, result.job.outcome, result.job.reason) == (
        "completed",
        "cancelled",
        "requested",
    )
    assert control.refusal([result]) is None


def test_a_supervisor_is_told_that_its_job_was_cancelled(scene: Scene) -> None:
    job_id = scene.submit()
    scene.rung.clear()
    control.cancel(scene.context, [job_id])
    assert scene.rung == ["owner-0"]


@pytest.mark.parametrize("started", [True, False])
def test_a_job_with_a_target_is_told_to_stop_and_keeps_its_slots(scene: Scene, started: bool) -> None:
    job_id = scene.submit()
    if started:
        scene.start(job_id).close()
    else:
        scene.admit(job_id)
    (result,) = control.cancel(scene.context, [job_id])
    assert result.verdict == "stopping"
    assert (scene.job(job_id).phase, scene.job(job_id).stop_reason) == ("stopping", "cancelled")
    assert reads.admission(scene.store, job_id) is not None
    assert "owner-0" in scene.rung


def test_a_second_cancellation_changes_nothing(scene: Scene) -> None:
    job_id = scene.submit()
    scene.start(job_id).close()
    control.cancel(scene.context, [job_id])
    before = scene.job(job_id)
    (result,) = control.cancel(scene.context, [job_id])
    assert (result.job, result.verdict) == (before, "stopping")
    assert scene.job(job_id) == before


@pytest.mark.parametrize("reason", ["run_timeout", "job_timeout"])
def test_a_cancellation_outweighs_a_timeout_that_is_under_way(scene: Scene, reason: str) -> None:
    job_id = scene.submit()
    scene.start(job_id).close()
    scene.happen(job_id, Event("stop_requested", "stopping", reason))
    control.cancel(scene.context, [job_id])
    assert scene.job(job_id).stop_reason == "cancelled"


def test_what_has_ended_is_left_alone_and_is_a_conflict(scene: Scene) -> None:
    job_id = scene.submit()
    ended = scene.succeed(job_id)
    before = ledger(scene, job_id)
    results = control.cancel(scene.context, [job_id])
    assert results == [(ended, "ended")]
    assert ledger(scene, job_id) == before
    refusal = control.refusal(results)
    assert refusal is not None
    assert (refusal.code, refusal.message) == ("conflict", f"already ended: job {job_id} (success)")


def test_several_are_cancelled_at_once_and_what_had_ended_makes_it_incomplete(scene: Scene) -> None:
    done, waiting, running = scene.submit(), scene.submit(gated=True), scene.submit()
    scene.succeed(done)
    scene.start(running).close()
    results = control.cancel(scene.context, [running, done, waiting, running])
    assert [(result.job.id, result.verdict) for result in results] == [
        (running, "stopping"),
        (done, "ended"),
        (waiting, "cancelled"),
    ]
    refusal = control.refusal(results)
    assert refusal is not None
    assert refusal.code == "incomplete"


def test_a_message_about_very_many_jobs_stays_short(scene: Scene) -> None:
    job = scene.succeed(scene.submit())
    results = [control.Cancelled(job._replace(id=number), "ended") for number in range(1000)]
    refusal = control.refusal(results)
    assert refusal is not None
    assert len(refusal.message) < 300


def test_with_an_unknown_job_nothing_is_cancelled(scene: Scene) -> None:
    job_id = scene.submit()
    with pytest.raises(InturnError) as caught:
        control.cancel(scene.context, [job_id, 99])
    assert caught.value.code == "not_found"
    assert scene.job(job_id).phase == "queued"


def test_there_is_nothing_to_act_upon_in_a_store_that_does_not_exist(scene: Scene) -> None:
    nowhere = scene.context._replace(store=None)
    for act in (lambda: control.cancel(nowhere, [1]), lambda: control.wait_for(nowhere, [1])):
        with pytest.raises(InturnError) as caught:
            act()
        assert caught.value.code == "not_found"


# --- wait


def test_to_wait_for_what_has_ended_returns_at_once_in_the_order_asked_for(scene: Scene) -> None:
    first, second = scene.submit(), scene.submit()
    ended = [scene.succeed(job_id) for job_id in (second, first)]
    assert control.wait_for(scene.context, [second, first, second], 0) == ended


def test_it_waits_until_the_last_one_has_ended(scene: Scene) -> None:
    first, second = scene.submit(), scene.submit()
    scene.succeed(first)
    other = elsewhere(scene, lambda there: there.succeed(second))
    found = control.wait_for(scene.context, [first, second], GENEROUS)
    other.join()
    assert [(job.id, job.outcome) for job in found] == [(first, "success"), (second, "success")]


def test_after_the_timeout_it_says_what_has_not_ended(scene: Scene) -> None:
    done, open_one = scene.submit(), scene.submit()
    scene.succeed(done)
    for timeout in (0, 30 * MILLISECOND):
        with pytest.raises(InturnError) as caught:
            control.wait_for(scene.context, [done, open_one], timeout)
        assert caught.value.code == "incomplete"
        assert caught.value.message.endswith(f": job {open_one}")


def test_progress_is_told_at_first_and_when_something_has_changed(scene: Scene) -> None:
    job_id, other_id = scene.submit(), scene.submit()
    seen: list[str] = []
    threads: list[threading.Thread] = []
    acts: dict[str, Callable[[Scene], object]] = {
        "queued": lambda there: there.start(job_id).close(),
        "running": lambda there: (there.succeed(other_id), there.end(job_id, "failure")),
    }

    def progress(jobs: Sequence[Job]) -> None:
        seen.append(jobs[0].phase)
        act = acts.pop(jobs[0].phase, None)
        if act is not None:
            threads.append(elsewhere(scene, act))

    (job,) = control.wait_for(scene.context, [job_id], GENEROUS, progress)
    for thread in threads:
        thread.join()
    assert job.outcome == "failure"
    assert seen[0] == "queued"
    assert seen[-1] == "completed"


def test_a_job_that_vanishes_ends_the_wait(scene: Scene) -> None:
    job_id = scene.submit()

    def remove(there: Scene) -> None:
        with there.store.writing():
            there.store.execute("DELETE FROM jobs WHERE id = ?", (job_id,))

    other = elsewhere(scene, remove)
    with pytest.raises(InturnError) as caught:
        control.wait_for(scene.context, [job_id], GENEROUS)
    other.join()
    assert caught.value.code == "not_found"


def test_a_deadline_of_a_job_that_no_worker_serves_is_settled_by_who_waits_for_it(scene: Scene) -> None:
    job_id = scene.add(job_timeout=100 * MILLISECOND)
    child = scene.add(after_success=job_id)
    found = control.wait_for(scene.context, [job_id, child], GENEROUS)
    assert [(job.outcome, job.reason) for job in found] == [
        ("timed_out", "job_timeout"),
        ("aborted", "dependency_unsatisfied"),
    ]


def test_who_waits_goes_on_waiting_when_the_store_is_too_busy_to_settle_anything(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inturn.store.db.BUSY_DEADLINE", 0)
    job_id = scene.add(job_timeout=MILLISECOND)
    until(lambda: overdue.pending(scene.store, clock.now()), "something overdue")
    other = Scene(scene.directory)
    pauses = 0

    def pause(_seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 3:
            busy.__exit__(None, None, None)

    busy = other.store.writing()
    busy.__enter__()
    (job,) = control.wait_for(scene.context, [job_id], GENEROUS, pause=pause)
    assert (job.reason, pauses) == ("job_timeout", 3)
    other.close()


def remove(directory: Path) -> None:
    shutil.rmtree(directory)


def replace(directory: Path) -> None:
    os.rename(directory, directory.with_name("elsewhere"))
    Scene(directory).close()


@pytest.mark.parametrize("act", [remove, replace])
def test_who_waits_notices_that_the_store_is_gone(scene: Scene, act: Callable[[Path], None]) -> None:
    job_id = scene.submit()
    acts = [act]

    def pause(_seconds: float) -> None:
        acts.pop()(scene.directory)

    with pytest.raises(InturnError, match=r"inturn\.db is gone") as caught:
        control.wait_for(scene.context, [job_id], GENEROUS, pause=pause)
    assert caught.value.code == "store_unusable"


def test_what_depends_on_a_cancelled_job_and_belongs_to_nobody_ends_with_it(scene: Scene) -> None:
    job_id = scene.submit(gated=True)
    child = scene.add(after_success=job_id)
    grandchild = scene.add(after_success=child)
    control.cancel(scene.context, [job_id])
    assert [scene.job(each).reason for each in (child, grandchild)] == ["dependency_unsatisfied"] * 2


@pytest.mark.parametrize("parent_first", [True, False])
def test_a_whole_chain_can_be_cancelled_at_once_in_any_order(scene: Scene, parent_first: bool) -> None:
    parent = scene.submit(gated=True)
    chain = [parent, scene.add(after_success=parent)]
    results = control.cancel(scene.context, chain if parent_first else chain[::-1])
    assert {(result.verdict, result.job.outcome) for result in results} == {("cancelled", "cancelled")}


def test_very_many_jobs_can_be_waited_for(scene: Scene) -> None:
    job_ids = [scene.submit() for _ in range(300)]
    other = elsewhere(scene, lambda there: control.cancel(there.context, job_ids))
    found = control.wait_for(scene.context, job_ids, GENEROUS)
    other.join()
    assert {job.outcome for job in found} == {"cancelled"}
    assert len(found) == len(job_ids)

"""Another round, for jobs in a queue; those with supervisors are in tests/e2e/test_retry.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from inturn.core.job import Run
from inturn.core.moment import HOUR, SECOND
from inturn.core.spec import Spec, Submission, WantedCondition, WantedEdge
from inturn.core.transitions import Event
from inturn.errors import InturnError
from inturn.host import clock
from inturn.service import acting, capacity, enqueue, nursery, retry
from inturn.service.context import Context
from inturn.service.owned import Newcomer
from inturn.store import gates, overdue, owners, reads
from tests.builders import insert_gates
from tests.service.scene import Scene

PLAIN = Spec((b"true",), b"/", (), 0o077)


def add(scene: Scene, *parents: int, outcomes: tuple[str, ...] = ("success",), spec: Spec = PLAIN) -> int:
    """A queued job that depends on others."""
    edges = tuple(WantedEdge(str(parent), outcomes) for parent in parents)
    (job_id,) = enqueue.add(scene.context, [Submission(spec, queue="default", edges=edges)])
    return job_id


def end(scene: Scene, job_id: int, outcome: str = "failure") -> None:
    """Have a worker run a queued job to this outcome."""
    with scene.store.writing():
        token = f"worker-{scene.store.row('SELECT count(*) FROM owners')[0]}"
        worker = owners.register(scene.store, "worker", token, "1:1:boot:1", (1, 1), "0", clock.now())
    job = scene.job(job_id)
    number = job.runs + 1
    run = Run(job_id, number, job.attempts + 1, job.round, token, f"logs/{token}", clock.now().wall)
    scene.happen(job_id, Event("admitted", "starting", run=run, owner=worker))
    started = run._replace(native_id="x", started_at=clock.now().wall)
    scene.happen(job_id, Event("started", "running", run=started))
    scene.end(job_id, outcome)


def retried(scene: Scene, *job_ids: int, dependents: bool = False) -> list[int]:
    acted = retry.retry(scene.context, job_ids, dependents)
    assert [one.refusal for one in acted] == [""] * len(acted)
    return [one.job.id for one in acted]


def refused(scene: Scene, *job_ids: int) -> InturnError:
    """The error for jobs none of which can have another round."""
    refusal = acting.refusal(retry.retry(scene.context, job_ids), "retried", "")
    assert refusal is not None
    return refusal


def receipts(scene: Scene, job_id: int) -> list[str | None]:
    return [edge.observed_outcome for edge in gates.edges(scene.store, job_id)]


@pytest.mark.parametrize("outcome", ["failure", "success", "timed_out", "lost"])
def test_a_job_that_has_ended_stands_in_line_again_under_its_id(scene: Scene, outcome: str) -> None:
    job_id = add(scene)
    end(scene, job_id, outcome)
    assert retried(scene, job_id) == [job_id]
    job = scene.job(job_id)
    assert (job.status, job.round, job.attempts, job.failures, job.runs) == ("queued", 2, 0, 0, 1)
    assert (job.outcome, job.completed_at, job.owner) == (None, None, None)
    assert job.due.wall > scene.run(job_id, 1).admitted_at
    kinds = [entry.kind for entry in reads.events(scene.store, 0, job_id, None)]
    assert kinds[-2:] == ["ended", "revived"]
    end(scene, job_id, "success")
    assert (scene.job(job_id).outcome, scene.run(job_id, 2).attempt) == ("success", 1)


def test_what_has_not_ended_is_a_conflict_and_beside_others_incomplete(scene: Scene) -> None:
    live, ended = add(scene), add(scene)
    end(scene, ended)
    before = scene.job(live)
    acted = retry.retry(scene.context, [live, ended])
    assert [bool(one.refusal) for one in acted] == [True, False]
    refusal = acting.refusal(acted, "retried", "")
    assert refusal is not None
    assert refusal.code == "incomplete"
    refusal = acting.refusal(retry.retry(scene.context, [live]), "retried", "")
    assert refusal is not None
    assert refusal.code == "conflict"
    assert scene.job(live) == before


def test_with_an_unknown_job_none_is_retried(scene: Scene) -> None:
    job_id = add(scene)
    end(scene, job_id)
    with pytest.raises(InturnError) as caught:
        retry.retry(scene.context, [job_id, 99])
    assert caught.value.code == "not_found"
    assert scene.job(job_id).round == 1


def test_a_job_that_must_have_started_by_now_is_not_revived_in_vain(scene: Scene) -> None:
    job_id = add(scene, spec=PLAIN._replace(wait_abort_at=clock.now().wall + HOUR))
    end(scene, job_id)
    with scene.store.writing():
        scene.store.execute("UPDATE specs SET wait_abort_at = ?", (clock.now().wall - 1,))
    (acted,) = retry.retry(scene.context, [job_id])
    assert "--wait-abort-at" in acted.refusal
    assert scene.job(job_id).phase == "completed"


def test_a_fresh_budget_is_a_fresh_deadline(scene: Scene) -> None:
    job_id = add(scene, spec=PLAIN._replace(job_timeout=HOUR))
    end(scene, job_id)
    retried(scene, job_id)
    (count,) = scene.store.row("SELECT count(*) FROM deadlines WHERE job_id = ?", (job_id,))
    assert count == 1
    assert scene.job(job_id).watch.elapsed(clock.now()) < 60 * SECOND


def test_what_would_not_fit_any_more_is_refused_as_a_new_job_would_be(scene: Scene) -> None:
    capacity.set_pool(scene.context, "dev", 2)
    wanted = Submission(PLAIN, queue="default", pool="dev", slots=2)
    (job_id,) = enqueue.add(scene.context, [wanted])
    end(scene, job_id)
    other = add(scene)
    end(scene, other)
    capacity.set_pool(scene.context, "dev", 1)
    assert refused(scene, job_id).code == "impossible"
    capacity.remove_pool(scene.context, "dev")
    assert refused(scene, job_id).code == "unknown_pool"
    acted = retry.retry(scene.context, [job_id, other])
    assert [one.refusal for one in acted] == ["there is no pool 'dev'", ""]
    refusal = acting.refusal(acted, "retried", "")
    assert refusal is not None
    assert refusal.code == "incomplete"
    assert [scene.job(one).phase for one in (job_id, other)] == ["completed", "queued"]
    # What is refused for different reasons has no reason in common.
    assert refused(scene, job_id, other).code == "conflict"
    capacity.set_pool(scene.context, "dev", 2)
    assert retried(scene, job_id) == [job_id]


# --- its gates


def test_an_aborted_job_is_judged_by_how_its_dependencies_stand_now(scene: Scene) -> None:
    parent = add(scene)
    child = add(scene, parent)
    end(scene, parent)
    assert (scene.job(child).outcome, receipts(scene, child)) == ("aborted", ["failure"])
    # Nothing has changed for it: it ends as it did.
    retried(scene, child)
    assert (scene.job(child).outcome, scene.job(child).round) == ("aborted", 2)
    retried(scene, parent)
    end(scene, parent, "success")
    assert scene.job(child).outcome == "aborted"
    retried(scene, child)
    assert (scene.job(child).phase, receipts(scene, child)) == ("queued", ["success"])


def test_it_waits_for_a_dependency_that_has_begun_another_round(scene: Scene) -> None:
    parent = add(scene)
    child = add(scene, parent)
    end(scene, parent)
    retried(scene, parent, child)
    assert (scene.job(child).phase, receipts(scene, child)) == ("waiting", [None])
    end(scene, parent, "success")
    assert (scene.job(child).phase, receipts(scene, child)) == ("queued", ["success"])


def test_a_condition_that_was_satisfied_is_not_looked_at_again(scene: Scene) -> None:
    wanted = Submission(PLAIN, queue="default", conditions=(WantedCondition("file", b"/there"),))
    (job_id,) = enqueue.add(scene.context, [wanted])
    scene.happen(job_id, Event("cancelled", "completed", "requested", "cancelled"))
    retried(scene, job_id)
    assert scene.job(job_id).phase == "waiting"
    with scene.store.writing():
        (condition,) = gates.conditions(scene.store, job_id)
        gates.write_observation(scene.store, condition._replace(satisfied_at=1, observed_at=1))
    scene.happen(job_id, Event("gates_opened", "queued"))
    scene.happen(job_id, Event("cancelled", "completed", "requested", "cancelled"))
    retried(scene, job_id)
    assert scene.job(job_id).phase == "queued"


# --- with dependents


def test_those_that_were_aborted_because_of_it_are_revived_down_the_graph(scene: Scene) -> None:
    parent = add(scene)
    children = [add(scene, parent) for _ in range(3)]
    grandchild = add(scene, *children)
    end(scene, parent)
    assert {scene.job(job_id).outcome for job_id in (*children, grandchild)} == {"aborted"}
    assert retried(scene, parent, dependents=True) == [parent, *children, grandchild]
    assert [scene.job(job_id).phase for job_id in (*children, grandchild)] == ["waiting"] * 4
    end(scene, parent, "success")
    assert [scene.job(job_id).phase for job_id in children] == ["queued"] * 3
    for child in children:
        end(scene, child, "success")
    assert scene.job(grandchild).phase == "queued"


def test_those_that_have_run_or_ended_for_another_reason_are_untouched(scene: Scene) -> None:
    parent = add(scene)
    after_failed = add(scene, parent, outcomes=("failure",))
    cancelled = add(scene, parent)
    scene.happen(cancelled, Event("cancelled", "completed", "requested", "cancelled"))
    other = add(scene)
    aborted_by_another = add(scene, other)
    end(scene, other)
    end(scene, parent)
    end(scene, after_failed, "success")
    untouched = [scene.job(job_id) for job_id in (after_failed, cancelled, aborted_by_another)]
    assert retried(scene, parent, dependents=True) == [parent]
    assert [scene.job(job.id) for job in untouched] == untouched


def test_without_being_asked_dependents_stay_aborted(scene: Scene) -> None:
    parent = add(scene)
    child = add(scene, parent)
    end(scene, parent)
    assert retried(scene, parent) == [parent]
    assert scene.job(child).outcome == "aborted"


def test_a_dependent_of_two_is_revived_once(scene: Scene) -> None:
    parents = [add(scene), add(scene)]
    child = add(scene, *parents)
    for parent in parents:
        end(scene, parent)
    assert retried(scene, *parents, dependents=True) == [*parents, child]
    assert scene.job(child).round == 2


def test_a_dependent_that_nobody_had_looked_at_yet_is_judged_by_the_round_that_it_waited_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "AT_MOST", 2)
    parent = add(scene)
    children = [add(scene, parent) for _ in range(5)]
    end(scene, parent, "success")
    assert overdue.is_unsettled(scene.store, parent)
    retried(scene, parent)
    assert [scene.job(job_id).phase for job_id in children] == ["queued"] * 5
    assert not overdue.pending(scene.store, clock.now())


def test_a_job_that_is_ended_first_by_the_transaction_that_revives_it_gets_its_supervisor(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    hatched: list[int] = []

    def hatch(_: Context, count: int, store_them: Callable[[list[Newcomer]], Any]) -> tuple[Any, set[int]]:
        hatched.append(count)
        return store_them([Newcomer("heir", "1:1:boot:1", (1, 1))]), {0}

    monkeypatch.setattr(nursery, "hatch", hatch)
    parent = scene.add(job_timeout=HOUR)
    child = scene.submit(gated=True)
    with scene.store.writing():
        insert_gates(scene.store, child, {parent: ("success",)}, ())
        scene.store.execute("UPDATE specs SET job_timeout = 0 WHERE job_id = ?", (parent,))
        scene.store.execute("UPDATE deadlines SET at = 0")
    assert retried(scene, child) == [child]
    assert hatched == [1]
    assert (scene.job(parent).outcome, scene.job(child).outcome, scene.job(child).round) == (
        "timed_out",
        "aborted",
        2,
    )

"""New jobs like old ones, for jobs in a queue; those with supervisors are in tests/e2e/test_retry.py."""

from __future__ import annotations

from typing import Any

import pytest

from inturn.core.moment import HOUR, MINUTE
from inturn.core.retry import Policy
from inturn.core.spec import Spec, Submission, WantedCondition, WantedEdge
from inturn.core.transitions import Event
from inturn.core.views import Filters
from inturn.errors import InturnError
from inturn.host import clock
from inturn.service import capacity, enqueue, rerun
from inturn.store import gates, reads, specs
from tests.service.scene import Scene

SPEC = Spec(
    argv=(b"printf", b"\xff", b""),
    cwd=b"/tmp/\xff",
    environment=(b"A=1", b"B=\xff"),
    umask=0o27,
    env_changes=(b"C", b"D=4"),
    stdin_file=b"in",
    merge_output=True,
    nice=3,
    policy=Policy(retry_codes=((1, 3),), run_limit=4, failure_limit=4, delay=MINUTE, backoff="linear"),
    run_timeout=HOUR,
    job_timeout=2 * HOUR,
    stop_grace=0,
    max_crashes=None,
    note="why",
)


def add(scene: Scene, **fields: Any) -> int:
    (job_id,) = enqueue.add(scene.context, [Submission(**{"spec": SPEC, "queue": "q", **fields})])
    return job_id


def again(scene: Scene, job_id: int, with_gates: bool = False) -> int:
    (fresh,) = rerun.rerun(scene.context, [job_id], with_gates)
    return fresh


def test_a_new_job_has_all_that_the_old_one_had(scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 4)
    fields = {"name": "n", "pool": "p", "slots": 2, "priority": 7, "tags": (("k", "v"), ("t", None))}
    old = add(scene, **fields, key="once", delay=HOUR)
    before = scene.job(old)
    new = again(scene, old)
    assert new != old
    assert scene.job(old) == before
    job = scene.job(new)
    assert (job.name, job.queue, job.pool, job.slots, job.priority) == ("n", "q", "p", 2, 7)
    assert (job.status, job.round, job.attempts) == ("queued", 1, 0)
    assert specs.load(scene.store, new) == specs.load(scene.store, old) == SPEC
    (view,) = reads.views(scene.store, [job], detailed=True)
    assert view.tags == (("k", "v"), ("t", None))
    assert reads.key(scene.store, new) is None


@pytest.mark.parametrize("ended", [True, False])
def test_it_waits_for_nothing_unless_its_gates_are_meant_too(scene: Scene, ended: bool) -> None:
    parent = add(scene)
    conditions = (WantedCondition("file", b"/there"), WantedCondition("delay", time=HOUR))
    spec = SPEC._replace(wait_abort_at=clock.now().wall + HOUR)
    edges = (WantedEdge(str(parent), ("failure",)),)
    old = add(scene, spec=spec, edges=edges, conditions=conditions)
    if ended:
        scene.happen(old, Event("cancelled", "completed", "requested", "cancelled"))
    plain = again(scene, old)
    assert scene.job(plain).status == "queued"
    assert (gates.edges(scene.store, plain), gates.conditions(scene.store, plain)) == ([], [])
    assert specs.load(scene.store, plain).wait_abort_at is None
    gated = again(scene, old, with_gates=True)
    assert scene.job(gated).phase == "waiting"
    assert [(edge.parent_id, edge.outcomes) for edge in gates.edges(scene.store, gated)] == [
        (parent, ("failure",))
    ]
    found = gates.conditions(scene.store, gated)
    assert [(one.kind, one.argument) for one in found] == [("file", b"/there"), ("delay", b"")]
    assert found[1].due.wall == scene.job(gated).submitted_at + HOUR
    assert specs.load(scene.store, gated) == spec


def test_a_dependency_on_the_first_job_of_an_array_stays_one_on_that_job(scene: Scene) -> None:
    array = [Submission(SPEC, queue="q", array_index=index, array_size=3) for index in (1, 2, 3)]
    first, *_ = enqueue.add(scene.context, array)
    old = add(scene, edges=(WantedEdge(f"{first}_1", ("success",)),))
    new = again(scene, old, with_gates=True)
    assert [edge.parent_id for edge in gates.edges(scene.store, new)] == [first]


def test_a_job_of_an_array_keeps_its_index(scene: Scene) -> None:
    array = [Submission(SPEC, queue="q", array_index=index, array_size=2, at_once=1) for index in (4, 5)]
    first, second = enqueue.add(scene.context, array)
    job = scene.job(again(scene, second))
    assert (job.array_index, job.array_id, job.throttle) == (5, None, 0)
    assert scene.job(second).array_id == first


def test_all_or_none_are_submitted_in_their_order(scene: Scene) -> None:
    capacity.set_pool(scene.context, "p", 1)
    plain, pooled = add(scene), add(scene, pool="p")
    assert [scene.job(job_id).pool for job_id in rerun.rerun(scene.context, [pooled, plain, pooled])] == [
        "p",
        "",
    ]
    live = list(reads.newest(scene.store, Filters(pools=("p",), statuses=("live",)), clock.now(), None))
    for job in live:
        scene.happen(job.id, Event("cancelled", "completed", "requested", "cancelled"))
    capacity.remove_pool(scene.context, "p")
    count = scene.store.row("SELECT count(*) FROM jobs")
    for wanted, code in (([plain, pooled], "unknown_pool"), ([plain, 99], "not_found")):
        with pytest.raises(InturnError) as caught:
            rerun.rerun(scene.context, wanted)
        assert caught.value.code == code
    assert scene.store.row("SELECT count(*) FROM jobs") == count

from __future__ import annotations

from typing import Any

import pytest

from inturn.core.again import held_up_by, repetition, revival, why_not
from inturn.core.job import PHASES, Condition
from inturn.core.moment import HOUR, MINUTE, Deadline, after
from inturn.core.spec import Submission, WantedCondition, WantedEdge
from inturn.core.transitions import apply
from inturn.core.views import View
from tests.builders import START, judged_edge, later, make_condition, make_edge, make_job, make_spec

LATER = later(MINUTE)
SATISFIED = make_condition(position=0, satisfied_at=START.wall, observed_at=START.wall)
OPEN = make_condition(position=1)


def view(**fields: Any) -> View:
    job = make_job("completed", name="n", priority=4, slots=2, pool="gpu", **fields)
    return View(job, (b"true",), tags=(("k", "v"), ("t", None)))


# Another round.


@pytest.mark.parametrize("phase", PHASES)
def test_only_what_has_ended_can_have_another_round(phase: str) -> None:
    assert bool(why_not(make_job(phase), make_spec(), LATER)) == (phase != "completed")


def test_a_job_whose_first_run_would_come_too_late_cannot() -> None:
    job = make_job("completed")
    assert "--wait-abort-at" in why_not(job, make_spec(wait_abort_at=LATER.wall), LATER)
    assert not why_not(job, make_spec(wait_abort_at=LATER.wall + 1), LATER)


@pytest.mark.parametrize("owner", [None, 9])
def test_without_gates_it_stands_in_line_at_once(owner: int | None) -> None:
    job = make_job("completed", queue="" if owner else "q", outcome="failure")
    revived = apply(job, revival((), (), make_spec(), owner), LATER).after
    assert (revived.phase, revived.owner, revived.due.wall) == ("queued", owner, LATER.wall)


def test_dependencies_are_judged_anew() -> None:
    assert revival((judged_edge("success"),), (), make_spec(), None).to == "waiting"


@pytest.mark.parametrize(
    ("conditions", "mode", "phase"),
    [
        ((SATISFIED,), "all", "queued"),
        ((OPEN,), "all", "waiting"),
        ((SATISFIED, OPEN), "all", "waiting"),
        ((SATISFIED, OPEN), "any", "queued"),
        ((OPEN,), "any", "waiting"),
    ],
)
def test_conditions_that_were_satisfied_stay_so(
    conditions: tuple[Condition, ...], mode: str, phase: str
) -> None:
    assert revival((), conditions, make_spec(wait_mode=mode), None).to == phase


def test_who_was_aborted_by_a_dependency_was_held_up_by_exactly_that_one() -> None:
    aborted = make_job("completed", outcome="aborted", reason="dependency_unsatisfied")
    assert held_up_by(judged_edge("failure"), aborted)
    assert not held_up_by(judged_edge("success"), aborted)
    assert not held_up_by(make_edge(), aborted)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("aborted", "wait_deadline"),
        ("aborted", "retry_deadline"),
        ("failure", "run_limit"),
        ("success", None),
    ],
)
def test_who_ended_for_another_reason_was_not_held_up(outcome: str, reason: str | None) -> None:
    ended = make_job("completed", outcome=outcome, reason=reason)
    assert not held_up_by(judged_edge("failure"), ended)


# A new job.


@pytest.mark.parametrize("queue", ["", "q"])
def test_a_repetition_asks_for_the_same(queue: str) -> None:
    spec = make_spec(note="why", run_timeout=HOUR)
    assert repetition(view(queue=queue), spec, None) == Submission(
        spec, "n", queue, "gpu", 2, 4, tags=(("k", "v"), ("t", None))
    )


def test_it_has_neither_the_old_delay_nor_a_deadline_for_its_start() -> None:
    old = view()._replace(job=view().job._replace(due=after(START, HOUR)))
    again = repetition(old, make_spec(wait_abort_at=START.wall), None)
    assert (again.delay, again.at, again.spec.wait_abort_at) == (0, None, None)


def test_a_job_of_an_array_keeps_its_index_and_leaves_the_array() -> None:
    again = repetition(view(array_id=5, array_index=3, throttle=5), make_spec(), None)
    assert (again.array_index, again.array_size, again.at_once) == (3, 0, None)


def test_with_its_gates_it_waits_for_the_same() -> None:
    conditions = (
        make_condition("file", position=0, argument=b"/there", satisfied_at=START.wall),
        make_condition("probe", position=1, argument=b"test\0-s"),
        make_condition("delay", position=2, argument=b"", due=after(START, MINUTE)),
        make_condition("until", position=3, argument=b"", due=Deadline(START.wall + HOUR)),
    )
    old = view()._replace(edges=(judged_edge("failure", parent_id=3),), conditions=conditions)
    spec = make_spec(wait_abort_at=START.wall + HOUR)
    again = repetition(old, spec, {3: make_job("completed", id=3)})
    assert again.edges == (WantedEdge("3", ("success",)),)
    assert again.conditions == (
        WantedCondition("file", b"/there"),
        WantedCondition("probe", b"test\0-s"),
        WantedCondition("delay", time=MINUTE),
        WantedCondition("until", time=START.wall + HOUR),
    )
    assert again.spec == spec


def test_a_dependency_on_one_job_of_an_array_stays_one_on_that_job() -> None:
    old = view()._replace(edges=(make_edge(parent_id=5), make_edge(parent_id=6)))
    parents = {number: make_job(id=number, array_id=5, array_index=number - 4) for number in (5, 6)}
    selectors = [edge.selector for edge in repetition(old, make_spec(), parents).edges]
    # The id of its first job is that of the array.
    assert selectors == ["5_1", "6"]

from __future__ import annotations

import pytest

from inturn.core import transitions
from inturn.core.decide import (
    Step,
    before_run,
)
from inturn.core.job import OUTCOMES, Condition, Edge, Job
from inturn.core.moment import HOUR, MINUTE, SECOND, Deadline, Now, after
from inturn.core.retry import Policy
from inturn.core.spec import Spec
from inturn.core.transitions import Event
from tests.builders import (
    START,
    judged_edge,
    later,
    make_condition,
    make_edge,
    make_job,
    make_spec,
)

JOB_TIMEOUT = Event("timed_out", "completed", "job_timeout", "timed_out")
WAIT_DEADLINE = Event("aborted", "completed", "wait_deadline", "aborted")
RETRY_DEADLINE = Event("aborted", "completed", "retry_deadline", "aborted")
UNSATISFIED = Event("aborted", "completed", "dependency_unsatisfied", "aborted")


def before(
    job: Job,
    spec: Spec | None = None,
    edges: tuple[Edge, ...] = (),
    conditions: tuple[Condition, ...] = (),
    next_look: dict[int, int] | None = None,
    now: Now = START,
) -> Step:
    return before_run(job, spec or make_spec(), edges, conditions, next_look or {}, now)


def opened(step: Step) -> Deadline:
    """The place in line of a job whose gates have opened."""
    assert step.event is not None
    assert (step.kind, step.event.kind, step.event.to) == ("commit", "gates_opened", "queued")
    assert step.event.due is not None
    return step.event.due


# Deadlines before a run.


@pytest.mark.parametrize("phase", ["waiting", "queued"])
def test_a_job_whose_time_is_over_ends_before_its_run_can_start(phase: str) -> None:
    spec = make_spec(job_timeout=MINUTE)
    assert before(make_job(phase), spec, now=later(MINUTE)) == Step("commit", JOB_TIMEOUT)
    assert before(make_job(phase), spec, now=later(MINUTE - 1)).event != JOB_TIMEOUT


@pytest.mark.parametrize("phase", ["waiting", "queued"])
def test_a_job_that_has_not_started_by_the_wait_deadline_is_aborted(phase: str) -> None:
    spec = make_spec(wait_abort_at=START.wall + MINUTE)
    assert before(make_job(phase), spec, now=later(MINUTE)) == Step("commit", WAIT_DEADLINE)
    assert before(make_job(phase), spec, now=later(MINUTE - 1)).event != WAIT_DEADLINE
    # It concerns the first run only.
    assert before(make_job("queued", attempts=1), spec, now=later(HOUR)).kind == "request"


def test_no_further_run_starts_after_the_retry_deadline_and_the_first_is_not_concerned() -> None:
    spec = make_spec(Policy(abort_at=START.wall))
    again = make_job("queued", attempts=1)
    assert before(again, spec, now=START).kind == "request"
    assert before(again, spec, now=later(1)) == Step("commit", RETRY_DEADLINE)
    assert before(make_job("queued"), spec, now=later(HOUR)).kind == "request"


def test_the_whole_job_timeout_goes_before_the_other_deadlines() -> None:
    spec = make_spec(job_timeout=1, wait_abort_at=START.wall)
    assert before(make_job("queued"), spec, now=later(1)) == Step("commit", JOB_TIMEOUT)


def test_a_deadline_goes_before_gates_that_are_open() -> None:
    spec = make_spec(wait_abort_at=START.wall)
    assert before(make_job("waiting"), spec, (judged_edge("success"),)) == Step("commit", WAIT_DEADLINE)


# Dependencies.


def test_a_completed_parent_is_receipted_before_anything_is_judged() -> None:
    parents = [
        make_edge(parent_id=3),
        make_edge(parent_id=4, parent_phase="completed", parent_outcome="failure"),
        make_edge(parent_id=5, parent_phase="completed", parent_outcome="success"),
        judged_edge("success", parent_id=6),
    ]
    assert before(make_job("waiting"), edges=tuple(parents)) == Step("receipts")


@pytest.mark.parametrize("wanted", OUTCOMES)
@pytest.mark.parametrize("seen", OUTCOMES)
def test_a_receipt_satisfies_its_edge_exactly_if_its_outcome_is_listed(wanted: str, seen: str) -> None:
    edge = judged_edge(seen, outcomes=(wanted, "success"))
    step = before(make_job("waiting"), edges=(edge,))
    if seen in (wanted, "success"):
        opened(step)
    else:
        assert step == Step("commit", UNSATISFIED)


def test_one_unsatisfied_dependency_aborts_the_job_though_others_are_open() -> None:
    edges = (make_edge(parent_id=3), judged_edge("failure", parent_id=4))
    waiting = make_condition("file")
    assert before(make_job("waiting"), edges=edges, conditions=(waiting,)) == Step("commit", UNSATISFIED)


def test_a_receipt_is_judged_whatever_has_become_of_the_parent_since() -> None:
    revived = judged_edge("success")._replace(parent_phase="running", parent_revision=9)
    opened(before(make_job("waiting"), edges=(revived,)))


def test_a_job_whose_parents_run_sleeps_until_something_happens() -> None:
    assert before(make_job("waiting"), edges=(make_edge(),)) == Step("sleep")


# Wait conditions.

MET = make_condition("file", satisfied_at=START.wall - 5)
MET_LATER = make_condition("probe", position=1, satisfied_at=START.wall - 2)
UNMET = make_condition("probe", position=1)


@pytest.mark.parametrize(
    ("mode", "conditions", "met_at"),
    [
        ("all", (MET, MET_LATER), START.wall - 2),
        ("any", (MET, MET_LATER), START.wall - 5),
        ("any", (MET, UNMET), START.wall - 5),
    ],
)
def test_conditions_that_are_met_together_open_the_gates_at_the_instant_they_were(
    mode: str, conditions: tuple[Condition, ...], met_at: int
) -> None:
    job = make_job("waiting", due=Deadline(START.wall - HOUR))
    assert opened(before(job, make_spec(wait_mode=mode), conditions=conditions)).wall == met_at


def test_with_all_every_condition_that_is_not_met_is_looked_at() -> None:
    step = before(make_job("waiting"), make_spec(wait_mode="all"), conditions=(MET, UNMET))
    assert step == Step("look", conditions=(UNMET,))


def test_conditions_that_are_met_are_not_looked_at_while_dependencies_are_open() -> None:
    step = before(make_job("waiting"), make_spec(wait_mode="any"), (make_edge(),), (MET, UNMET))
    assert step == Step("sleep")


def test_conditions_are_looked_at_while_dependencies_are_open() -> None:
    step = before(make_job("waiting"), edges=(make_edge(),), conditions=(UNMET,))
    assert step == Step("look", conditions=(UNMET,))


def test_dependencies_are_required_whatever_the_mode_of_the_conditions() -> None:
    spec = make_spec(wait_mode="any")
    assert before(make_job("waiting"), spec, (judged_edge("failure"),), (MET,)) == Step("commit", UNSATISFIED)
    assert before(make_job("waiting"), spec, (make_edge(),), (MET,)) == Step("sleep")


@pytest.mark.parametrize("kind", ["file", "probe"])
def test_a_file_or_probe_is_looked_at_again_when_its_time_has_come(kind: str) -> None:
    one, two = make_condition(kind), make_condition(kind, position=1)
    step = before(
        make_job("waiting"), conditions=(one, two), next_look={0: START.mono, 1: START.mono + 4 * SECOND}
    )
    assert step == Step("look", conditions=(one,))
    step = before(
        make_job("waiting"),
        conditions=(one, two),
        next_look={0: START.mono + 3 * SECOND, 1: START.mono + 4 * SECOND},
    )
    assert step == Step("sleep", wait=3 * SECOND)


@pytest.mark.parametrize(
    ("kind", "due"), [("delay", after(START, MINUTE)), ("until", Deadline(START.wall + MINUTE))]
)
def test_a_delay_or_an_instant_is_looked_at_when_it_is_reached(kind: str, due: Deadline) -> None:
    waiting = make_condition(kind, due=due)
    assert before(make_job("waiting"), conditions=(waiting,)) == Step("sleep", wait=MINUTE)
    step = before(make_job("waiting"), conditions=(waiting,), now=later(MINUTE))
    assert step == Step("look", conditions=(waiting,))


def test_the_sleep_at_the_gates_ends_with_the_first_deadline() -> None:
    condition = make_condition("until", due=Deadline(START.wall + HOUR))
    for spec in (make_spec(job_timeout=MINUTE), make_spec(wait_abort_at=START.wall + MINUTE)):
        assert before(make_job("waiting"), spec, conditions=(condition,)) == Step("sleep", wait=MINUTE)
        assert before(make_job("waiting"), spec, (make_edge(),)) == Step("sleep", wait=MINUTE)


# The place in line.


@pytest.mark.parametrize(
    ("due", "completed", "met", "place"),
    [(-9, (-7, -8), -6, -6), (-9, (-7, -8), None, -7), (-2, (-7, -8), -6, -2), (-9, (), -4, -4)],
)
def test_the_place_in_line_is_the_later_of_the_delay_and_the_last_prerequisite(
    due: int, completed: tuple[int, ...], met: int | None, place: int
) -> None:
    job = make_job("waiting", due=Deadline(START.wall + due))
    edges = tuple(
        judged_edge("success", START.wall + instant, parent_id=number)
        for number, instant in enumerate(completed)
    )
    conditions = () if met is None else (make_condition(satisfied_at=START.wall + met),)
    assert opened(before(job, edges=edges, conditions=conditions)).wall == START.wall + place


def test_dependents_of_one_job_tie_whenever_each_of_them_saw_its_end() -> None:
    edge = judged_edge("success", START.wall - 7)
    job = make_job("waiting", due=Deadline(START.wall - 9))
    places = {opened(before(job, edges=(edge,), now=later(delay))).wall for delay in (0, SECOND, HOUR)}
    assert places == {START.wall - 7}


def test_a_delay_that_is_not_over_keeps_the_job_out_of_line_though_its_gates_are_open() -> None:
    due = after(START, MINUTE)
    step = before(make_job("waiting", due=due), edges=(judged_edge("success", START.wall - 1),))
    assert opened(step) == due
    assert step.event is not None
    assert transitions.apply(make_job("waiting", due=due), step.event, START).after.status == "scheduled"


@pytest.mark.parametrize("set_back", [1, HOUR])
def test_gates_that_have_opened_stay_open_when_the_wall_clock_is_set_back(set_back: int) -> None:
    now = START._replace(wall=START.wall - set_back)
    job = make_job("waiting", due=Deadline(now.wall - 1))
    step = before(job, edges=(judged_edge("success", START.wall),), now=now)
    assert opened(step).reached(now)
    assert step.event is not None
    assert transitions.apply(job, step.event, now).after.in_line


def test_what_has_been_due_stays_due_when_the_wall_clock_is_set_back() -> None:
    job = make_job("queued", due=Deadline(START.wall), in_line=1)
    assert before(job, now=START._replace(wall=START.wall - HOUR)).kind == "request"


def test_a_request_that_went_silent_asks_again() -> None:
    assert before(make_job("queued", in_line=2)).kind == "request"


@pytest.mark.parametrize("due", [after(START, MINUTE), Deadline(START.wall + MINUTE)])
def test_a_job_that_is_not_due_sleeps_until_it_is(due: Deadline) -> None:
    job = make_job("queued", in_line=0, due=due)
    assert before(job) == Step("sleep", wait=MINUTE)
    assert before(job, now=later(MINUTE)).kind == "request"


def test_a_delay_of_elapsed_time_is_not_shortened_by_the_wall_clock() -> None:
    job = make_job("queued", in_line=0, due=after(START, MINUTE))
    assert before(job, now=START._replace(wall=START.wall + HOUR)) == Step("sleep", wait=MINUTE)


def test_the_sleep_before_a_retry_ends_with_its_deadlines() -> None:
    job = make_job("queued", attempts=1, in_line=0, due=after(START, HOUR))
    assert before(job, make_spec(job_timeout=MINUTE)) == Step("sleep", wait=MINUTE)
    retry_abort = make_spec(Policy(abort_at=START.wall + MINUTE))
    assert before(job, retry_abort) == Step("sleep", wait=MINUTE + 1)
    assert before(job, retry_abort, now=later(MINUTE + 1)) == Step("commit", RETRY_DEADLINE)


def test_who_asks_for_slots_knows_until_when_it_may_wait_for_them() -> None:
    assert before(make_job("queued")) == Step("request")
    assert before(make_job("queued"), make_spec(job_timeout=MINUTE)) == Step("request", wait=MINUTE)


@pytest.mark.parametrize("held", ["waiting", "queued"])
def test_neither_gates_nor_deadlines_are_judged_while_a_job_is_paused(held: str) -> None:
    paused = make_job("paused", held_phase=held)
    spec = make_spec(job_timeout=1, wait_abort_at=START.wall)
    assert before(paused, spec, (judged_edge("failure"),), now=later(HOUR)) == Step("sleep")

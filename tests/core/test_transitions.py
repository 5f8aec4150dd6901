from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from inturn.core.job import ACTIVE, IN_LINE, NOT_IN_LINE, OUTCOMES, PHASES, RUN_OUTCOMES, STOP_REASONS, Job
from inturn.core.moment import HOUR, SECOND, Deadline, Stopwatch, after
from inturn.core.transitions import REBOOTED, TABLE, Event, apply, count, heavier, holds_slots, submit
from tests.builders import START, at, ended, later, make_job, make_run, make_submission, running

LATER = later(60 * SECOND)

# A job that is submitted was in no phase before; everything else finds the job in one.
ALLOWED = [
    (source, kind, target)
    for kind, (sources, targets) in TABLE.items()
    for source, target in product(sources, targets)
]
REFUSED = sorted(set(product(PHASES, TABLE, PHASES)) - set(ALLOWED))


def event_for(kind: str, target: str, job: Job) -> Event:
    """An event of this kind with everything that such an event carries."""
    return Event(
        kind,
        target,
        reason="cancelled" if target == "stopping" else "because",
        outcome="failure" if target == "completed" else None,
        run=make_run(job, number=job.runs + 1) if kind == "admitted" else None,
        owner=2 if kind == "admitted" else None,
    )


def find(phase: str, kind: str, target: str, queue: str = "") -> Job:
    """A job in the phase in which the event may find it; a paused one is held as the event asks for."""
    if phase != "paused":
        return make_job(phase, queue=queue)
    held = target if kind == "resumed" else "queued" if kind == "cancelled" else "running"
    return make_job(phase, queue=queue, held_phase=held)


def transit(source: str, kind: str, target: str, queue: str = "") -> tuple[Job, Job]:
    job = find(source, kind, target, queue)
    transition = apply(job, event_for(kind, target, job), LATER)
    assert (transition.before, transition.event.kind, transition.at) == (job, kind, LATER.wall)
    return job, transition.after


@pytest.mark.parametrize(("source", "kind", "target"), ALLOWED)
@pytest.mark.parametrize("queue", ["", "gpu"])
def test_an_event_that_the_table_allows_leads_to_its_phase_and_keeps_the_job_consistent(
    source: str, kind: str, target: str, queue: str
) -> None:
    before, changed = transit(source, kind, target, queue)
    assert changed.phase == target
    assert changed.revision == before.revision + 1
    assert (changed.phase == "completed") == (changed.outcome is not None)
    assert (changed.phase == "completed") == (changed.completed_at is not None)
    assert (changed.phase == "paused") == (changed.held_phase is not None)
    assert changed.in_line in (NOT_IN_LINE, IN_LINE)
    assert changed.in_line == NOT_IN_LINE or changed.phase == "queued"
    assert changed.stop_reason is None or changed.phase in ("stopping", "paused")
    assert changed.epoch in (before.epoch, before.epoch + 1)
    if holds_slots(changed):
        assert changed.owner is not None


@pytest.mark.parametrize(("source", "kind", "target"), REFUSED)
def test_an_event_that_the_table_does_not_allow_is_refused(source: str, kind: str, target: str) -> None:
    job = find(source, kind, target)
    with pytest.raises(ValueError, match="does not lead"):
        apply(job, event_for(kind, target, job), LATER)


@pytest.mark.parametrize(("source", "kind", "target"), [way for way in ALLOWED if way[2] == "completed"])
def test_a_completed_job_has_its_outcome_no_owner_and_a_halted_watch(
    source: str, kind: str, target: str
) -> None:
    before, changed = transit(source, kind, target)
    assert (changed.outcome, changed.reason, changed.completed_at) == ("failure", "because", LATER.wall)
    assert changed.owner is None
    assert changed.stop_reason is None
    assert changed.watch == Stopwatch(before.watch.elapsed(LATER))


@pytest.mark.parametrize("held", ["waiting", "queued", "running"])
def test_a_paused_job_goes_on_as_what_it_was_paused_as(held: str) -> None:
    paused = apply(make_job(held), Event("paused", "paused"), START).after
    assert (paused.held_phase, paused.in_line, holds_slots(paused)) == (held, 0, held == "running")
    for target in ("waiting", "queued", "running"):
        if target == held:
            resumed = apply(paused, Event("resumed", target), LATER).after
            assert (resumed.phase, resumed.held_phase, resumed.in_line) == (held, None, int(held == "queued"))
        else:
            with pytest.raises(ValueError, match="paused while"):
                apply(paused, Event("resumed", target), LATER)


@pytest.mark.parametrize(
    ("held", "kind"), [("queued", "ended"), ("waiting", "ended"), ("running", "cancelled")]
)
def test_a_paused_job_ends_by_being_stopped_if_it_has_a_target_and_else_at_once(held: str, kind: str) -> None:
    with pytest.raises(ValueError, match="paused while"):
        apply(make_job("paused", held_phase=held), Event(kind, "completed", outcome="cancelled"), LATER)


@pytest.mark.parametrize("kind", ["resumed", "repeated", "stop_requested"])
def test_paused_time_does_not_count_for_the_whole_job_timeout(kind: str) -> None:
    target = {"resumed": "running", "repeated": "queued", "stop_requested": "stopping"}[kind]
    paused = apply(make_job("running"), Event("paused", "paused"), later(10 * SECOND)).after
    assert paused.watch.elapsed(LATER) == 10 * SECOND
    gone_on = apply(paused, Event(kind, target, "cancelled"), LATER).after
    assert gone_on.watch.elapsed(later(61 * SECOND)) == 11 * SECOND


def test_a_run_that_was_never_started_is_no_attempt() -> None:
    job = make_job("starting", attempts=2, runs=3, due=Deadline(START.wall - HOUR))
    run = ended(make_run(job, number=3), "cancelled", LATER)
    back = apply(job, Event("withdrawn", "queued", "not_started", run=run), LATER).after
    assert (back.attempts, back.runs, back.due, back.in_line) == (1, 3, job.due, 1)
    assert (back.successes, back.failures) == (0, 0)


@pytest.mark.parametrize(("reason", "crashes"), [("owner_died", 3), (REBOOTED, 2)])
def test_a_lost_run_is_a_crash_unless_the_machine_was_restarted(reason: str, crashes: int) -> None:
    job = make_job("running", crashes=2, failures=1)
    run = ended(running(make_run(job)), "lost", LATER)
    back = apply(job, Event("lost", "queued", reason, run=run, due=after(LATER, SECOND)), LATER).after
    assert (back.crashes, back.failures, back.successes, back.status) == (crashes, 1, 0, "backoff")


@pytest.mark.parametrize("owner", [None, 9])
def test_another_round_is_a_fresh_budget_under_the_same_id(owner: int | None) -> None:
    spent: dict[str, Any] = {"attempts": 3, "runs": 5, "failures": 2, "crashes": 1, "bypass_count": 3}
    job = make_job("completed", queue="" if owner else "gpu", outcome="failure", reason="run_limit", **spent)
    revived = apply(job, Event("revived", "queued", owner=owner), LATER).after
    assert (revived.id, revived.round, revived.runs) == (job.id, job.round + 1, 5)
    assert (revived.attempts, revived.successes, revived.failures, revived.crashes) == (0, 0, 0, 0)
    assert (revived.bypass_count, revived.outcome, revived.reason, revived.completed_at) == (
        0,
        None,
        None,
        None,
    )
    assert (revived.owner, revived.epoch, revived.in_line) == (owner, job.epoch + 1, 1)
    assert revived.watch.elapsed(later(70 * SECOND)) == 10 * SECOND


@pytest.mark.parametrize("source", ["starting", "running", "stopping", "paused"])
def test_only_a_supervised_job_keeps_its_owner_when_it_goes_back_to_the_line(source: str) -> None:
    assert transit(source, "repeated", "queued")[1].owner == 1
    assert transit(source, "repeated", "queued", "gpu")[1].owner is None


def test_a_job_that_is_repeated_after_a_delay_is_not_in_line_before_it_is_over() -> None:
    due = after(LATER, 5 * SECOND)
    repeated = apply(make_job("running"), Event("repeated", "queued", due=due), LATER).after
    assert (repeated.due, repeated.in_line, repeated.status) == (due, NOT_IN_LINE, "backoff")


def test_a_job_that_is_repeated_without_a_delay_is_in_line_at_once() -> None:
    repeated = apply(make_job("running"), Event("repeated", "queued", due=at(LATER)), LATER).after
    assert (repeated.due, repeated.in_line, repeated.status) == (at(LATER), IN_LINE, "queued")


def test_an_event_without_an_instant_leaves_the_place_in_line_as_it_was() -> None:
    job = make_job("waiting", due=Deadline(START.wall - HOUR))
    opened = apply(job, Event("gates_opened", "queued"), LATER).after
    assert (opened.due, opened.in_line) == (job.due, IN_LINE)


def test_an_admission_counts_an_attempt_and_forgets_the_bypasses() -> None:
    job = make_job("queued", attempts=1, runs=4, bypass_count=3)
    admitted = apply(job, Event("admitted", "starting", run=make_run(job, number=5), owner=1), LATER).after
    assert (admitted.attempts, admitted.runs, admitted.bypass_count) == (2, 5, 0)
    assert admitted.started_at == LATER.wall


def test_the_time_of_the_first_start_is_kept() -> None:
    job = make_job("queued", attempts=1, runs=1, started_at=START.wall)
    admitted = apply(job, Event("admitted", "starting", run=make_run(job, number=2), owner=1), LATER).after
    assert admitted.started_at == START.wall


@pytest.mark.parametrize(("owner", "grows"), [(1, 0), (2, 1)])
def test_the_epoch_grows_exactly_when_the_owner_changes(owner: int, grows: int) -> None:
    job = make_job("queued")
    admitted = apply(job, Event("admitted", "starting", run=make_run(job), owner=owner), LATER).after
    assert (admitted.owner, admitted.epoch) == (owner, job.epoch + grows)


@pytest.mark.parametrize("reason", STOP_REASONS)
def test_a_stop_keeps_its_reason_until_the_job_has_stopped(reason: str) -> None:
    stopping = apply(make_job("running"), Event("stop_requested", "stopping", reason), LATER).after
    assert stopping.stop_reason == reason
    over = apply(stopping, Event("ended", "completed", "because", "cancelled"), LATER).after
    assert over.stop_reason is None


def test_a_heavier_reason_replaces_a_lighter_one_and_never_the_other_way_round() -> None:
    for position, reason in enumerate(STOP_REASONS):
        assert heavier(reason, None)
        assert [heavier(reason, other) for other in STOP_REASONS] == [
            position > weight for weight in range(len(STOP_REASONS))
        ]


@pytest.mark.parametrize("outcome", RUN_OUTCOMES)
def test_a_run_is_counted_once_as_a_success_or_a_failure(outcome: str) -> None:
    job = make_job("running")
    run = ended(running(make_run(job)), outcome, LATER)
    stopping = apply(job, Event("leftovers_found", "stopping", run=run), LATER).after
    over = apply(stopping, Event("ended", "completed", "because", "failure"), LATER).after
    counted = {"success": (1, 0), "lost": (0, 0), "cancelled": (0, 0)}.get(outcome, (0, 1))
    assert (stopping.successes, stopping.failures) == counted
    assert (over.successes, over.failures) == counted


def test_a_run_without_an_outcome_counts_as_nothing() -> None:
    job = make_job("starting")
    assert count(job, running(make_run(job))) == job


@pytest.mark.parametrize("phase", PHASES)
def test_a_job_holds_slots_exactly_while_it_is_active(phase: str) -> None:
    assert holds_slots(make_job(phase)) == (phase in ACTIVE)
    assert holds_slots(make_job("paused", held_phase=phase)) == (phase in ACTIVE)


def test_every_phase_can_be_reached_and_left() -> None:
    assert {target for _, targets in TABLE.values() for target in targets} == set(PHASES)
    assert {source for sources, _ in TABLE.values() for source in sources} == set(PHASES)


@pytest.mark.parametrize(
    ("owner", "gated", "phase"),
    [(1, False, "submitting"), (1, True, "submitting"), (None, True, "waiting"), (None, False, "queued")],
)
def test_a_supervised_job_begins_with_its_supervisor_and_a_queued_one_with_its_gates(
    owner: int | None, gated: bool, phase: str
) -> None:
    job = submit(make_submission(queue="" if owner else "gpu"), gated, owner, START)
    assert phase in TABLE["submitted"][1]
    assert (job.phase, job.owner, job.epoch) == (phase, owner, int(owner is not None))
    assert job.in_line == (IN_LINE if phase == "queued" else NOT_IN_LINE)
    assert (job.revision, job.round, job.attempts, job.runs, job.outcome) == (1, 1, 0, 0, None)


def test_a_delay_is_elapsed_time_and_an_instant_is_wall_time() -> None:
    delayed = submit(make_submission(queue="gpu", delay=5 * SECOND), False, None, START)
    assert (delayed.due, delayed.status) == (after(START, 5 * SECOND), "scheduled")
    dated = submit(make_submission(queue="gpu", at=START.wall + HOUR), False, None, START)
    assert (dated.due, dated.status) == (Deadline(START.wall + HOUR), "scheduled")


def test_an_instant_that_has_passed_is_now() -> None:
    job = submit(make_submission(queue="gpu", at=START.wall - HOUR), False, None, START)
    assert (job.due.wall, job.in_line) == (START.wall, IN_LINE)


def test_the_whole_job_timeout_runs_from_submission() -> None:
    job = submit(make_submission(delay=5 * SECOND), False, 1, START)
    assert job.watch.elapsed(LATER) == 60 * SECOND


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_status_of_a_completed_job_is_its_outcome(outcome: str) -> None:
    assert make_job("completed", outcome=outcome).status == outcome


@pytest.mark.parametrize(
    ("in_line", "attempts", "status"),
    [(0, 0, "scheduled"), (0, 2, "backoff"), (1, 0, "queued"), (1, 2, "queued"), (2, 0, "queued")],
)
def test_the_status_tells_a_delay_of_the_user_from_a_retry_delay_and_from_the_line(
    in_line: int, attempts: int, status: str
) -> None:
    assert make_job("queued", in_line=in_line, attempts=attempts).status == status


@pytest.mark.parametrize("kind", ["gates_opened", "resumed"])
def test_a_delay_of_an_earlier_boot_is_an_absolute_time_when_the_job_enters_the_line(kind: str) -> None:
    due = Deadline(LATER.wall + HOUR, "an earlier boot", 1)
    job = make_job("waiting", due=due) if kind == "gates_opened" else make_job("paused", due=due)
    queued = apply(job, Event(kind, "queued"), LATER).after
    assert (queued.due, queued.in_line) == (Deadline(due.wall), NOT_IN_LINE)

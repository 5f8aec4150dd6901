from __future__ import annotations

from typing import Any

import pytest

from inturn.core.edit import Changes, check, edit, editable
from inturn.core.job import ACTIVE, IN_LINE, NOT_IN_LINE, PHASES, SILENT, Job
from inturn.core.moment import HOUR, MINUTE, SECOND, Deadline, after
from inturn.core.retry import Policy
from inturn.errors import InturnError
from tests.builders import START, later, make_job, make_spec

LATER = later(MINUTE)


def changed(job: Job, **fields: Any) -> Job:
    """The job as it is after an edit."""
    return edit(job, Changes(**fields), LATER).after


def refused(job: Job, changes: Changes, **spec: Any) -> InturnError:
    with pytest.raises(InturnError) as caught:
        check(job, make_spec(**spec), changes, LATER)
    return caught.value


@pytest.mark.parametrize("phase", PHASES)
def test_only_what_holds_no_slots_and_has_not_ended_can_be_edited(phase: str) -> None:
    assert editable(make_job(phase)) == (phase in ("waiting", "queued", "paused"))
    assert editable(make_job("paused", held_phase=phase)) == (phase not in ACTIVE)


@pytest.mark.parametrize("phase", ["waiting", "queued", "paused"])
def test_an_edit_is_an_event_that_changes_the_revision_and_no_phase(phase: str) -> None:
    job = make_job(phase)
    transition = edit(job, Changes(priority=3, name="new"), LATER)
    assert (transition.before, transition.at) == (job, LATER.wall)
    assert (transition.event.kind, transition.event.to) == ("edited", phase)
    assert transition.event.reason == "priority, name"
    after_ = transition.after
    assert (after_.priority, after_.name, after_.revision) == (3, "new", job.revision + 1)
    assert after_._replace(priority=job.priority, name=job.name, revision=job.revision) == job


def test_nothing_to_change_changes_nothing_but_the_revision() -> None:
    job = make_job("queued", bypass_count=2)
    assert changed(job) == job._replace(revision=job.revision + 1)
    assert Changes().fields == ()


def test_zero_and_empty_are_values() -> None:
    job = make_job("queued", queue="q", pool="gpu", priority=4)
    assert Changes(priority=0, pool="", note="", delay=0).fields == ("priority", "pool", "delay", "note")
    assert (changed(job, priority=0).priority, changed(job, pool="").pool) == (0, "")


@pytest.mark.parametrize("fields", [{"slots": 2}, {"pool": "gpu"}, {"queue": "q"}, {"delay": HOUR}])
def test_another_request_has_not_been_passed_by_anybody(fields: dict[str, object]) -> None:
    assert changed(make_job("queued", queue="default", bypass_count=3), **fields).bypass_count == 0


@pytest.mark.parametrize("fields", [{"priority": 9}, {"name": "x"}, {"slots": 1}])
def test_the_same_request_keeps_its_bypasses(fields: dict[str, object]) -> None:
    assert changed(make_job("queued", bypass_count=3), **fields).bypass_count == 3


def test_a_delay_is_elapsed_time_from_now_and_takes_a_job_out_of_the_line() -> None:
    job = make_job("queued")
    assert job.in_line == IN_LINE
    delayed = changed(job, delay=HOUR)
    assert (delayed.due, delayed.in_line, delayed.status) == (after(LATER, HOUR), NOT_IN_LINE, "scheduled")
    back = edit(delayed, Changes(delay=0), LATER).after
    assert (back.due.wall, back.in_line) == (LATER.wall, IN_LINE)


def test_an_instant_follows_the_wall_clock_and_a_past_one_is_now() -> None:
    dated = changed(make_job("queued"), at=LATER.wall + HOUR)
    assert (dated.due, dated.in_line) == (Deadline(LATER.wall + HOUR), NOT_IN_LINE)
    past = changed(make_job("queued"), at=START.wall - HOUR)
    assert (past.due, past.in_line) == (Deadline(LATER.wall), IN_LINE)


@pytest.mark.parametrize("phase", ["waiting", "paused"])
def test_a_delay_of_what_is_not_in_line_is_kept_for_later(phase: str) -> None:
    delayed = changed(make_job(phase), delay=HOUR)
    assert (delayed.due, delayed.in_line, delayed.phase) == (after(LATER, HOUR), NOT_IN_LINE, phase)


def test_a_retry_can_be_brought_forward() -> None:
    job = make_job("queued", attempts=1, in_line=NOT_IN_LINE, due=after(START, HOUR))
    assert (job.status, changed(job, delay=0).status) == ("backoff", "queued")


def test_a_request_whose_owner_is_silent_stays_out_of_the_competition() -> None:
    assert changed(make_job("queued", in_line=SILENT), priority=1).in_line == SILENT


def test_a_supervised_job_stands_in_no_queue() -> None:
    assert refused(make_job("queued"), Changes(queue="q")).code == "usage"
    check(make_job("queued", queue="a"), make_spec(), Changes(queue="b"), LATER)


def test_a_delay_must_not_outlast_the_job() -> None:
    # A minute has passed already.
    wanted = Changes(delay=9 * MINUTE + SECOND)
    assert refused(make_job("queued"), wanted, job_timeout=10 * MINUTE).code == "invalid_value"
    dated = Changes(at=LATER.wall + 9 * MINUTE + SECOND)
    assert refused(make_job("waiting"), dated, job_timeout=10 * MINUTE).code == "invalid_value"
    check(make_job("queued"), make_spec(job_timeout=10 * MINUTE), Changes(delay=9 * MINUTE), LATER)


def test_how_long_a_paused_job_will_be_paused_is_not_known() -> None:
    check(make_job("paused"), make_spec(job_timeout=MINUTE), Changes(delay=HOUR), LATER)


def test_a_retry_cannot_be_put_off_beyond_the_last_one() -> None:
    policy = Policy(abort_at=LATER.wall + HOUR)
    backoff = make_job("queued", attempts=1, in_line=NOT_IN_LINE, due=after(START, HOUR))
    assert refused(backoff, Changes(delay=HOUR + 1), policy=policy).code == "invalid_value"
    check(backoff, make_spec(policy), Changes(delay=HOUR), LATER)
    # The first run is not concerned.
    check(make_job("queued"), make_spec(policy), Changes(delay=HOUR + 1), LATER)

"""Who stands in line, and since when: promotion."""

from __future__ import annotations

import pytest

from inturn.core.job import IN_LINE, NOT_IN_LINE, Job
from inturn.core.moment import HOUR, MINUTE, SECOND, Deadline, Now
from inturn.core.transitions import Event
from inturn.store import due
from inturn.store.db import Store
from tests.builders import START, add_job, commit, counted, later, make_submission, reread, tallies


def in_line(store: Store, job: Job) -> int:
    return reread(store, job).in_line


def test_an_elapsed_delay_goes_by_the_monotonic_clock(store: Store) -> None:
    with store.writing():
        job = add_job(store, make_submission(queue="q", delay=MINUTE))
        jumped = START._replace(wall=START.wall + HOUR)
        assert (due.promote(store, jumped), in_line(store, job)) == (0, NOT_IN_LINE)
        set_back = later(MINUTE)._replace(wall=START.wall - HOUR)
        assert (due.promote(store, set_back), in_line(store, job)) == (1, IN_LINE)


def test_an_absolute_time_goes_by_the_wall_clock(store: Store) -> None:
    with store.writing():
        job = add_job(store, make_submission(queue="q", at=START.wall + MINUTE))
        assert reread(store, job).due == Deadline(START.wall + MINUTE)
        for early in (START, later(MINUTE - 1), START._replace(mono=START.mono + HOUR)):
            assert (due.promote(store, early), in_line(store, job)) == (0, NOT_IN_LINE)
        jumped = START._replace(wall=START.wall + MINUTE)
        assert (due.promote(store, jumped), in_line(store, job)) == (1, IN_LINE)


def test_what_has_once_been_due_stays_due(store: Store) -> None:
    with store.writing():
        job = add_job(store, make_submission(queue="q", at=START.wall + MINUTE))
        due.promote(store, later(MINUTE))
        due.promote(store, START._replace(wall=START.wall - HOUR))
        assert in_line(store, job) == IN_LINE


@pytest.mark.parametrize("boot", ["another", "zz another"])
def test_after_a_reboot_an_elapsed_delay_goes_by_the_wall_clock(store: Store, boot: str) -> None:
    with store.writing():
        job = add_job(store, make_submission(queue="q", delay=MINUTE))
        early = Now(START.wall + MINUTE - 1, HOUR, boot)
        assert (due.promote(store, early), in_line(store, job)) == (0, NOT_IN_LINE)
        assert due.promote(store, early._replace(wall=early.wall + 1)) == 1
    assert in_line(store, job) == IN_LINE


@pytest.mark.parametrize("boot", ["another", "zz another"])
def test_after_a_reboot_there_is_something_to_do_until_elapsed_delays_go_by_the_wall_clock(
    store: Store, boot: str
) -> None:
    with store.writing():
        add_job(store, make_submission(queue="q", delay=HOUR))
        rebooted = Now(START.wall + MINUTE, 5 * HOUR, boot)
        assert due.is_anything_due(store, rebooted)
        assert due.promote(store, rebooted) == 0
        assert due.next_due(store, rebooted) == HOUR - MINUTE


def test_a_delay_of_this_boot_that_begins_after_a_reboot_is_promoted_too(store: Store) -> None:
    with store.writing():
        rebooted = Now(START.wall + MINUTE, SECOND, "another")
        due.promote(store, rebooted)
        job = add_job(store, make_submission(queue="q", delay=MINUTE), now=rebooted)
        assert due.promote(store, later(MINUTE, rebooted)) == 1
        assert in_line(store, job) == IN_LINE


def test_a_promotion_is_neither_a_transition_nor_an_event(store: Store) -> None:
    with store.writing():
        job = add_job(store, make_submission(queue="q", delay=MINUTE))
        due.promote(store, later(MINUTE))
    assert reread(store, job) == job._replace(in_line=IN_LINE)
    assert store.row("SELECT count(*) FROM events") == (1,)
    assert tallies(store) == counted(store) == {("q", "", "queued"): 1}


def test_what_waits_for_something_else_is_not_promoted(store: Store) -> None:
    with store.writing():
        parent = add_job(store, make_submission(queue="q", delay=HOUR))
        child = add_job(store, make_submission(queue="q"), edges={parent.id: ("success",)})
        paused = commit(store, add_job(store, make_submission(queue="q")), Event("paused", "paused")).after
        assert due.promote(store, later(MINUTE)) == 0
        assert [in_line(store, job) for job in (parent, child, paused)] == [NOT_IN_LINE] * 3


def test_the_next_promotion_is_known_in_advance(store: Store) -> None:
    with store.writing():
        assert due.next_due(store, START) > HOUR
        add_job(store, make_submission(queue="q", at=START.wall + 3 * MINUTE))
        assert due.next_due(store, START) == 3 * MINUTE
        add_job(store, make_submission(queue="q", delay=2 * MINUTE))
        assert due.next_due(store, later(MINUTE)) == MINUTE
        assert not due.is_anything_due(store, later(MINUTE))
        assert due.is_anything_due(store, later(2 * MINUTE))

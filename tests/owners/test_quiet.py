"""Polls that find nothing new end at once; what they may not overlook, and how a crowd comes and goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from inturn.core.moment import HOUR, SECOND
from inturn.core.polling import BASE_INTERVAL, poll_interval
from inturn.errors import InturnError
from inturn.host import clock, wake
from inturn.store import admissions, owners, settings
from inturn.store.db import Store
from inturn.store.settings import Applied
from tests.builders import add_job, add_owner, admit, make_submission
from tests.owners.life import Life

CROWD = 150

Begin = Callable[..., Life]


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the owner has wanted to sleep each time (µs); it does not."""
    wanted: list[int] = []

    def nap(_fds: Sequence[int], timeout_us: int | None) -> set[int]:
        wanted.append(-1 if timeout_us is None else timeout_us)
        return set()

    monkeypatch.setattr(wake, "wait", nap)
    return wanted


@pytest.fixture
def begin(tmp_path: Path, naps: list[int]) -> Iterator[Begin]:
    made: list[Life] = []

    def one(**submission: Any) -> Life:
        made.append(Life(tmp_path, submission=submission).accept())
        return made[-1]

    yield one
    for life in made:
        life.close()


def register_crowd(life: Life) -> None:
    with life.other.writing():
        for number in range(CROWD):
            add_owner(life.other, f"one of many {number}", now=life.clock())


def disband_crowd(life: Life) -> None:
    with life.other.writing():
        life.other.execute("DELETE FROM owners WHERE token LIKE 'one of many%'")


def behind_an_older_one(begin: Begin) -> Life:
    """A job, and an older one whose supervisor does not answer, both for a slot that another job has."""
    life = begin(pool="one")
    with life.other.writing():
        life.other.execute("INSERT INTO pools (name, slots, declared) VALUES ('one', 1, 0)")
        silent = add_owner(life.other, "silent", now=life.clock())
        add_job(life.other, make_submission(pool="one", priority=1), silent, now=life.clock())
        life.other.execute("UPDATE jobs SET phase = 'queued', in_line = 1 WHERE owner = ?", (silent,))
    return life


def held_up(begin: Begin) -> Life:
    """A job in a pool whose only slot another job has."""
    life = begin(pool="one")
    with life.other.writing():
        life.other.execute("INSERT INTO pools (name, slots, declared) VALUES ('one', 1, 0)")
        holder = add_owner(life.other, "holder", now=life.clock())
        admit(
            life.other,
            add_job(life.other, make_submission(pool="one"), holder, now=life.clock()),
            now=life.clock(),
        )
    return life


def test_an_offer_that_nobody_answers_is_noticed_in_time_however_large_the_crowd_is(begin: Begin) -> None:
    life = behind_an_older_one(begin)
    register_crowd(life)
    # By then it has looked for dead owners, which it does not do again for half a minute.
    for _ in range(5):
        life.owner.turn()
        life.clock.ahead += SECOND
    assert life.job.phase == "queued"
    life.clock.ahead += admissions.PATIENCE
    life.owner.turn()
    assert life.job.phase != "queued"


def test_a_crowd_that_cannot_be_counted_makes_nobody_restless(
    begin: Begin, naps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    life = behind_an_older_one(begin)
    count = owners.crowd
    failures: list[InturnError] = [InturnError("store_busy", "it stayed locked", "")]

    def fail_once(store: Store) -> tuple[int, int | None]:
        if failures:
            raise failures.pop()
        return count(store)

    monkeypatch.setattr(owners, "crowd", fail_once)
    for _ in range(5):
        life.owner.turn()
        life.clock.ahead += max(naps[-1], 0)
    assert not failures
    assert min(naps) >= BASE_INTERVAL * 9 // 10


def test_when_a_crowd_has_gone_those_that_are_left_look_as_often_as_a_few(
    begin: Begin, naps: list[int]
) -> None:
    life = behind_an_older_one(begin)
    register_crowd(life)
    life.owner.turn()
    assert naps[-1] > BASE_INTERVAL * 2
    life.clock.ahead += 2 * SECOND
    disband_crowd(life)
    life.owner.turn()
    assert naps[-1] <= poll_interval(3) * 11 // 10
    assert life.owner._look_at - life.clock().mono <= owners.RENEW_EVERY * 11 // 10


def test_a_crowd_that_has_gone_is_missed_though_it_was_counted_just_now(
    begin: Begin, naps: list[int]
) -> None:
    life = held_up(begin)
    register_crowd(life)
    life.owner.turn()
    disband_crowd(life)
    life.owner.turn()
    assert naps[-1] > BASE_INTERVAL * 2
    # Nothing more is committed by anybody.
    life.clock.ahead += SECOND
    life.owner.turn()
    assert naps[-1] <= poll_interval(3) * 11 // 10


def test_a_crowd_looks_as_often_as_the_configuration_says_and_hears_of_a_change(
    begin: Begin, naps: list[int]
) -> None:
    life = behind_an_older_one(begin)
    register_crowd(life)
    life.owner.turn()
    assert naps[-1] > BASE_INTERVAL * 2
    for looks in (20 * CROWD, 100):
        with life.other.writing():
            settings.note_applied(life.other, Applied("a.yml", "", (0, 0, 0), "", life.clock().wall, looks))
        life.clock.ahead += 2 * SECOND
        life.owner.turn()
        expected = poll_interval(CROWD + 2, looks)
        assert expected // 2 <= naps[-1] <= expected * 3 // 2


def test_an_owner_reckons_with_the_crowd_when_it_waits_for_the_write_lock(
    begin: Begin, naps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(Store, "expect", lambda _, crowd: told.append(crowd))
    life = behind_an_older_one(begin)
    register_crowd(life)
    life.owner.turn()
    assert told[-1] >= CROWD


def test_a_time_of_day_has_come_at_the_next_poll_after_the_wall_clock_was_put_forward(begin: Begin) -> None:
    """As after the sleep of a machine, in which no time passes for the monotonic clock."""
    life = begin(at=clock.now().wall + HOUR)
    register_crowd(life)
    # By then it has done all that it does every so often.
    for _ in range(10):
        life.owner.turn()
        life.clock.ahead += SECOND
    life.clock.jumped += HOUR
    life.owner.turn()
    assert life.job.phase != "queued"


@pytest.mark.parametrize("draw", [0.0, 0.25, 0.99])
def test_those_who_have_come_together_look_at_different_times(
    begin: Begin, naps: list[int], draw: float
) -> None:
    life = behind_an_older_one(begin)
    life.owner._tools = life.owner._tools._replace(draw=lambda: draw)
    register_crowd(life)
    life.owner.turn()
    interval = poll_interval(CROWD + 2)
    assert abs(naps[-1] - (0.5 + draw) * interval) < SECOND // 10
    assert interval * 9 // 10 <= life.owner._until_poll() <= interval * 11 // 10, "then each keeps to it"

"""Supervisors that sleep and have not opened the store: whom the nurse wakes, and whom it lets sleep."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from inturn.core.job import Condition, Job
from inturn.core.moment import HOUR, MINUTE, SECOND
from inturn.engines.local import LocalEngine
from inturn.errors import InturnError
from inturn.host import identity, locks, paths, store_dir, wake
from inturn.owners import nurse as nursing
from inturn.owners.nurse import Nurse
from inturn.owners.tools import Tools
from inturn.store import jobs, owners
from inturn.store.db import Store, open_store
from tests.builders import (
    CANCEL,
    add_job,
    add_owner,
    admit,
    commit,
    finish,
    make_spec,
    make_submission,
    reread,
)
from tests.owners.life import Clock


class Ward:
    """Some sleepers, and a nurse that looks when it is told to; its sleeps take no time."""

    def __init__(self, root: Path) -> None:
        self.clock = Clock()
        self.directory = str(root / "store")
        store_dir.create_store_dirs(self.directory)
        self.store = open_store(self.directory, wake.ringer(self.directory))
        # Whoever changes the store and dies before anybody is told.
        self.other = open_store(self.directory, lambda _: None)
        self._beds, self.bed = os.pipe()
        self._fifos: dict[str, int] = {}
        self.locks: dict[str, int] = {}
        self.wakes = True
        self._nurse: Nurse | None = None

    def sleeper(self, token: str, **submission: Any) -> Job:
        """Somebody who sleeps, and whose job has been accepted; it may have `edges` and `conditions`."""
        edges = submission.pop("edges", ())
        conditions = submission.pop("conditions", ())
        lock, fifo = paths.owner_files(self.directory, token)
        self._fifos[token] = wake.create(fifo)
        self.locks[token] = locks.create(lock)
        who = identity.of(os.getpid())
        assert who is not None
        with self.other.writing():
            file = locks.file_id(self.locks[token])
            owner = owners.register(self.other, "supervisor", token, who.text(), file, "0", self.clock())
            outcomes: dict[int, tuple[str, ...]] = dict.fromkeys(edges, ("success",))
            wanted = make_submission(**submission)
            return add_job(self.other, wanted, owner, outcomes, conditions, self.clock())

    def stranger(self, token: str) -> None:
        """Somebody who sleeps, and of whom the store knows nothing."""
        self._fifos[token] = wake.create(paths.owner_files(self.directory, token)[1])

    def holder(self, **submission: Any) -> Job:
        """A job of somebody who is awake, and has its slots."""
        with self.other.writing():
            owner = add_owner(self.other, f"awake {submission}", now=self.clock())
            job = add_job(self.other, make_submission(**submission), owner, now=self.clock())
            return admit(self.other, job, now=self.clock())

    @property
    def nurse(self) -> Nurse:
        if self._nurse is None:
            tools = Tools(self.store, LocalEngine(), self.clock, lambda: 0.5, self.directory, 0, lambda: None)
            self._nurse = Nurse(tools, self._beds, list(self._fifos))
        return self._nurse

    def look(self, after: int = 10 * SECOND) -> set[str]:
        """Let the nurse look after some time; who has been called by that, and says that it is awake."""
        self.clock.ahead += after
        self.nurse.turn()
        called = {token for token, fifo in self._fifos.items() if _was_rung(fifo)}
        if self.wakes:
            for token in called:
                self.say_awake(token)
        return called

    def say_awake(self, token: str) -> None:
        """As a supervisor does that has woken."""
        os.write(self.bed, struct.pack("<I", list(self._fifos).index(token)))

    def close(self) -> None:
        self.store.close()
        self.other.close()
        for fd in (*self._fifos.values(), *self.locks.values(), self._beds, self.bed):
            with suppress(OSError):
                os.close(fd)


def _was_rung(fifo: int) -> bool:
    try:
        return bool(os.read(fifo, 100))
    except BlockingIOError:
        return False


def limit(store: Store, slots: int) -> None:
    with store.writing():
        store.execute("INSERT INTO pools (name, slots, declared) VALUES ('', ?, 0)", (slots,))


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ward]:
    really_wait = wake.wait
    monkeypatch.setattr(wake, "wait", lambda fds, _: really_wait(fds, 0))
    made = Ward(tmp_path)
    yield made
    made.close()


def test_who_waits_for_another_job_sleeps_on_whatever_else_happens(ward: Ward) -> None:
    parent = ward.holder()
    ward.sleeper("a", edges=(parent.id,))
    for number in range(3):
        assert ward.look() == set()
        ward.holder(name=str(number))
    assert not ward.nurse.finished()


def test_who_may_have_slots_is_woken_at_once(ward: Ward) -> None:
    for token in "abc":
        ward.sleeper(token)
    assert ward.look(0) == set("abc")
    assert ward.nurse.finished()


def test_of_those_in_line_the_first_is_woken_when_there_is_room_and_nobody_before(ward: Ward) -> None:
    limit(ward.other, 2)
    holders = [ward.holder(name=str(number)) for number in range(2)]
    for token in "abc":
        ward.sleeper(token)
    assert ward.look(0) == {"a"}, "the next in line gets ready"
    assert ward.look() == set()
    with ward.other.writing():
        finish(ward.other, reread(ward.other, holders[0]))
        admit(ward.other, next(job for job in _jobs_of(ward.other, "a")), now=ward.clock())
    assert ward.look() == {"b"}
    assert not ward.nurse.finished()


def _jobs_of(store: Store, token: str) -> list[Job]:
    from inturn.store import jobs

    owner = owners.by_token(store, token)
    assert owner is not None
    return jobs.owned_by(store, owner.id)


@pytest.mark.parametrize("when", ["delay", "at"])
def test_who_waits_for_a_time_is_woken_when_it_has_come(ward: Ward, when: str) -> None:
    since = ward.clock().wall if when == "at" else 0
    ward.sleeper("soon", **{when: since + MINUTE})
    ward.sleeper("late", **{when: since + HOUR})
    assert ward.look(0) == set()
    assert ward.look(MINUTE - SECOND) == set()
    assert ward.look(SECOND) == {"soon"}
    assert ward.look(HOUR) == {"late"}


def test_who_waits_for_a_time_of_day_is_woken_when_the_clock_has_jumped_past_it(ward: Ward) -> None:
    ward.sleeper("a", at=ward.clock().wall + HOUR)
    assert ward.look(0) == set()
    ward.clock.jumped += HOUR
    assert ward.look(SECOND) == {"a"}


def test_who_runs_out_of_time_before_its_parent_has_ended_is_woken(ward: Ward) -> None:
    parent = ward.holder()
    ward.sleeper("a", edges=(parent.id,), spec=make_spec(job_timeout=MINUTE))
    assert ward.look(0) == set()
    assert ward.look(MINUTE) == {"a"}


def test_whose_job_was_changed_by_somebody_who_died_then_is_woken(ward: Ward) -> None:
    parent = ward.holder()
    first, _ = (ward.sleeper(token, edges=(parent.id,)) for token in "ab")
    assert ward.look(0) == set()
    with ward.other.writing():
        commit(ward.other, first, CANCEL, ward.clock())
    assert ward.look() == {"a"}


def test_who_was_let_in_by_the_end_of_its_parent_is_woken_though_that_ones_owner_died(ward: Ward) -> None:
    parent = ward.holder()
    for token in "ab":
        ward.sleeper(token, edges=(parent.id,))
    assert ward.look(0) == set()
    with ward.other.writing():
        finish(ward.other, reread(ward.other, parent))
    assert ward.look() == set("ab")


def test_who_was_told_by_others_and_runs_is_let_go_without_a_word(ward: Ward) -> None:
    limit(ward.other, 1)
    holder = ward.holder()
    jobs = [ward.sleeper(token, priority=priority) for token, priority in (("a", 1), ("b", 0))]
    ward.look(0)
    with ward.other.writing():
        finish(ward.other, reread(ward.other, holder))
        admit(ward.other, reread(ward.other, jobs[1]), now=ward.clock())
    assert ward.look() == set()
    assert [one.token for one in ward.nurse._charges] == []


@pytest.mark.parametrize("phase", ["starting", "running", "stopping", "paused"])
def test_who_got_a_job_that_has_been_started_by_a_dead_owner_is_woken_at_once(ward: Ward, phase: str) -> None:
    ward.sleeper("waits", delay=HOUR)
    job = ward.sleeper("adopts")
    with ward.other.writing():
        admit(ward.other, job, now=ward.clock())
    ward.other.execute(
        "UPDATE jobs SET phase = ?, held_phase = iif(?1 = 'paused', 'running', NULL) WHERE id = ?",
        (phase, job.id),
    )
    assert ward.look(0) == {"adopts"}
    assert ward.look() == set()
    assert not ward.nurse.finished()


def test_who_has_to_look_at_a_condition_is_woken_at_once(ward: Ward) -> None:
    ward.sleeper("a", conditions=(Condition(0, 0, "file", b"/there/is/none"),))
    assert ward.look(0) == {"a"}


def test_who_is_not_known_to_the_store_or_not_accepted_is_woken_at_once(ward: Ward) -> None:
    ward.stranger("nothing was submitted to it")
    ward.sleeper("late", delay=HOUR)
    ward.other.execute("UPDATE jobs SET phase = 'submitting'")
    assert ward.look(0) == {"nothing was submitted to it", "late"}


def test_the_nurse_goes_when_all_are_awake_whoever_has_woken_them(ward: Ward) -> None:
    ward.sleeper("a", delay=HOUR)
    ward.look(0)
    assert not ward.nurse.finished()
    os.close(ward.bed)
    ward.look()
    ward.look()
    assert ward.nurse.finished()


def test_who_has_woken_by_itself_is_not_looked_after_any_more(ward: Ward) -> None:
    for token in "ab":
        ward.sleeper(token, delay=HOUR)
    ward.look(0)
    ward.say_awake("a")
    ward.look()
    assert ward.look(HOUR) == {"b"}


def test_if_one_does_not_wake_when_it_is_called_the_nurse_goes_which_wakes_them_all(ward: Ward) -> None:
    for token, delay in (("a", MINUTE), ("b", MINUTE), ("c", HOUR)):
        ward.sleeper(token, delay=delay)
    ward.wakes = False
    ward.look(0)
    assert ward.look(MINUTE) == set("ab")
    ward.say_awake("b")
    ward.look(SECOND)
    assert not ward.nurse.finished()
    ward.look(nursing.DEAF_AFTER)
    assert ward.nurse.finished()


def test_one_that_has_died_is_not_deaf(ward: Ward) -> None:
    for token, delay in (("a", MINUTE), ("b", HOUR)):
        ward.sleeper(token, delay=delay)
    ward.wakes = False
    ward.look(0)
    os.close(ward.locks.pop("a"))
    assert ward.look(MINUTE) == {"a"}
    ward.look(nursing.DEAF_AFTER)
    assert not ward.nurse.finished()


def test_what_a_failing_store_has_kept_it_from_seeing_it_looks_at_again(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = ward.holder()
    job = ward.sleeper("a", edges=(parent.id,))
    ward.look(0)
    with ward.other.writing():
        commit(ward.other, job, CANCEL, ward.clock())
    is_at = jobs.is_at

    def fail_once(*_: object) -> bool:
        monkeypatch.setattr(jobs, "is_at", is_at)
        raise InturnError("store_busy", "it stayed locked", "")

    monkeypatch.setattr(jobs, "is_at", fail_once)
    assert ward.look() == set()
    assert ward.look() == {"a"}


def test_a_store_in_which_much_happens_is_not_searched_all_the_time(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursing, "PAUSE_FOR_EACH", MINUTE)
    parent = ward.holder()
    jobs = [ward.sleeper(token, edges=(parent.id,)) for token in "ab"]
    ward.look(0)
    ward.look()
    with ward.other.writing():
        commit(ward.other, jobs[0], CANCEL, ward.clock())
    assert ward.look() == set()
    assert ward.look(2 * MINUTE) == {"a"}


def test_a_crowd_of_sleepers_makes_its_nurse_look_no_more_rarely(ward: Ward) -> None:
    for number in range(50):
        ward.sleeper(str(number), delay=HOUR)
    ward.look(0)
    assert ward.nurse._interval <= 2 * SECOND // 10


def test_nor_do_the_sleepers_of_other_nurses(ward: Ward) -> None:
    ward.sleeper("a", delay=HOUR)
    with ward.other.writing():
        for number in range(500):
            add_owner(ward.other, f"elsewhere {number}", now=ward.clock())
    ward.look(0)
    assert ward.nurse._interval <= SECOND

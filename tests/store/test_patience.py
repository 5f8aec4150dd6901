"""How those wait who want the write lock: quickly if they are few, rarely in a crowd, and never for ever."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.store import db
from inturn.store.db import Patience
from inturn.store.transaction import BUSY_DEADLINE

# In a crowd, all that wait for the lock try so often at most, together and a second.
TRIES = 6000

ATTEMPTS = st.integers(0, 10**9)
CROWDS = st.integers(0, 100_000)


def among(crowd: int) -> Patience:
    patience = Patience()
    patience.crowd = crowd
    return patience


@given(ATTEMPTS)
def test_few_never_sleep_long(attempts: int) -> None:
    assert 0.0005 <= among(0).window(attempts) <= 0.003


@given(ATTEMPTS, ATTEMPTS, CROWDS)
def test_who_has_tried_more_often_does_not_try_more_frequently(one: int, other: int, crowd: int) -> None:
    patience = among(crowd)
    assert patience.window(min(one, other)) <= patience.window(max(one, other))


@given(st.integers(0, 10), CROWDS)
def test_the_first_attempts_are_as_quick_in_a_crowd(attempts: int, crowd: int) -> None:
    assert among(crowd).window(attempts) == among(0).window(attempts)


@pytest.mark.parametrize("crowd", [30, 100, 1000, 10_000])
def test_a_crowd_that_waits_leaves_the_processor_to_the_one_that_has_the_lock(crowd: int) -> None:
    mean = among(crowd).window(100) * 0.6
    assert crowd / mean <= TRIES


def test_nobody_waits_beyond_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(db, "monotonic", lambda: clock[0])
    monkeypatch.setattr(db, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    patience = among(1000)
    attempts = 0
    while patience(attempts):
        attempts += 1
    assert BUSY_DEADLINE <= clock[0] - 1000 <= BUSY_DEADLINE + 1


def test_the_handler_is_the_one_that_the_store_tells_of_a_crowd(tmp_path: Path) -> None:
    with_lock = db.open_store(str(tmp_path), lambda _: None)
    waiting = db.open_store(str(tmp_path), lambda _: None)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 40:
            with_lock.execute("COMMIT")
        time.sleep(0)

    with_lock.execute("BEGIN IMMEDIATE")
    waiting.expect(1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db, "sleep", sleep)
        with waiting.writing():
            pass
    assert max(slept) > 0.003
    waiting.close()
    with_lock.close()

"""Whoever looks at the store tells those who were not told: by whom they should have been may have died."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from inturn.core.moment import HOUR, MINUTE
from inturn.core.polling import BASE_INTERVAL
from inturn.host import paths, wake
from inturn.owners.owner import COUNT_EVERY
from tests.builders import add_job, add_owner, make_submission
from tests.owners.life import Life


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """What each sleep of the owner ends with, from the last one on; it takes no time."""
    answers: list[set[int]] = []

    def nap(_fds: Sequence[int], _timeout_us: int | None) -> set[int]:
        return answers.pop() if answers else set()

    monkeypatch.setattr(wake, "wait", nap)
    return answers


@pytest.fixture
def life(tmp_path: Path, told: list[set[int]]) -> Iterator[Life]:
    """An owner whose job is not due for long."""
    one = Life(tmp_path, submission={"delay": 60 * MINUTE}).accept()
    one.owner.turn()
    yield one
    one.close()


@pytest.fixture
def hints(life: Life) -> Iterator[Callable[[], int]]:
    """Another job stands in line; how many hints its owner has been given since the last time."""
    fifo = wake.create(paths.owner_files(life.directory, "other")[1])
    with life.other.writing():
        other = add_owner(life.other, "other", now=life.clock())
        add_job(life.other, make_submission(), other, now=life.clock())
        life.other._to_wake.clear()

    def count() -> int:
        try:
            return len(os.read(fifo, 100))
        except BlockingIOError:
            return 0

    count()
    yield count
    os.close(fifo)


def change_something(life: Life) -> None:
    with life.other.writing():
        life.other.execute("UPDATE jobs SET bypass_count = 1 - bypass_count WHERE id <> ?", (life.id,))


def poll(life: Life) -> None:
    life.clock.ahead += 3 * BASE_INTERVAL  # more than the interval of two owners
    life.owner.turn()


def test_a_poll_of_anybody_tells_who_was_not_told(life: Life, hints: Callable[[], int]) -> None:
    poll(life)
    assert hints() == 1


def test_nobody_is_told_again_while_nothing_has_changed(life: Life, hints: Callable[[], int]) -> None:
    poll(life)
    hints()
    for _ in range(3):
        poll(life)
    assert hints() == 0


def test_who_is_told_itself_leaves_it_to_its_next_poll(
    life: Life, hints: Callable[[], int], told: list[set[int]]
) -> None:
    told.append({life._fifo})
    poll(life)
    hints()
    change_something(life)
    life.clock.ahead += COUNT_EVERY  # so that it need not look again in order to count the owners
    poll(life)
    assert hints() == 0
    poll(life)
    assert hints() == 1


def test_several_changes_within_an_interval_are_looked_at_once(life: Life, hints: Callable[[], int]) -> None:
    poll(life)
    hints()
    for _ in range(5):
        change_something(life)
        life.owner.turn()
    assert hints() == 0
    poll(life)
    assert hints() == 1


def test_who_waits_for_a_time_of_day_is_told_by_whoever_sees_that_the_clock_has_jumped(
    life: Life, hints: Callable[[], int]
) -> None:
    with life.other.writing():
        life.other.execute(
            "UPDATE jobs SET in_line = 0, due_boot = '', due_at = ?, next_run_at = ?1 WHERE id <> ?",
            (life.clock().wall + HOUR, life.id),
        )
    poll(life)
    assert hints() == 0
    life.clock.jumped += HOUR
    poll(life)
    assert hints() == 1

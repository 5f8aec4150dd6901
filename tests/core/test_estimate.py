from __future__ import annotations

import pytest

from inturn.core.estimate import Usual, left, remaining, usual
from inturn.core.moment import MINUTE
from tests.builders import START, later, make_job

KNOWN = {"train": Usual(10 * MINUTE, 3)}


@pytest.mark.parametrize(
    ("durations", "median"), [([7], 7), ([9, 1, 2], 2), ([4, 1, 9, 2], 3), ([5, 5, 1000], 5)]
)
def test_what_is_usual_is_the_median(durations: list[int], median: int) -> None:
    assert usual(durations) == Usual(median, len(durations))


def test_without_history_nothing_is_usual() -> None:
    assert usual([]) is None


def test_a_job_that_has_not_started_takes_all_of_it_and_one_that_runs_the_rest() -> None:
    wall = later(4 * MINUTE).wall
    assert left(make_job("waiting"), KNOWN["train"], wall) == 10 * MINUTE
    assert left(make_job("running", started_at=START.wall), KNOWN["train"], wall) == 6 * MINUTE
    assert left(make_job("running", started_at=START.wall), KNOWN["train"], later(MINUTE * 60).wall) == 0


def test_jobs_go_on_side_by_side_as_they_do_now() -> None:
    busy = [make_job("running", id=number, name="train", started_at=START.wall) for number in (1, 2)]
    waiting = [make_job("queued", id=number, name="train") for number in range(3, 9)]
    assert remaining(busy, KNOWN, START.wall) == 10 * MINUTE
    assert remaining([*busy, *waiting], KNOWN, START.wall) == 40 * MINUTE
    assert remaining(waiting, KNOWN, START.wall) == 60 * MINUTE


def test_what_has_ended_takes_no_time() -> None:
    done = make_job("completed", name="unknown")
    assert remaining([done], KNOWN, START.wall) is None
    assert remaining([done, make_job("running", id=8, name="train")], KNOWN, START.wall) == 10 * MINUTE


@pytest.mark.parametrize("name", [None, "unknown"])
def test_one_job_without_history_leaves_all_of_it_open(name: str | None) -> None:
    assert remaining([make_job(name="train"), make_job(id=8, name=name)], KNOWN, START.wall) is None

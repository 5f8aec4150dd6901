from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from inturn.cli.progress import drawing
from inturn.core.estimate import Usual
from inturn.core.job import STATUSES, Job
from inturn.core.moment import MILLISECOND, MINUTE
from tests.builders import START, later, make_job

KNOWN = {"train": Usual(10 * MINUTE, 3)}
HOSTILE = "\x1b]0;owned\x07[red]x[/red]\u202e漢字" + "y" * 200


def _drawn(
    jobs: list[Job], known: dict[str, Usual], elapsed: int = 4 * MINUTE, width: int = 110
) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, force_terminal=True, highlight=False)
    console.print(drawing(jobs, later(elapsed), elapsed, known))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def _running(number: int, name: str | None = "train") -> Job:
    return make_job("running", id=number, name=name, runs=1, started_at=START.wall)


def test_it_tells_the_time_the_counts_and_what_runs() -> None:
    jobs = [_running(1, "a"), make_job("queued", id=2), make_job("completed", id=3)]
    assert _drawn(jobs, {}) == ["4m  1 queued  1 running  1 success", '  running  4m  job 1 ("a")']


def test_with_earlier_runs_it_says_what_they_let_expect_and_that_this_is_an_estimate() -> None:
    assert _drawn([_running(1)], KNOWN) == [
        "4m  1 running",
        '  running  4m of about 10m  job 1 ("train")',
        "estimate: 6m left (median of 3 earlier runs)",
    ]
    assert _drawn([_running(1)], {"train": Usual(10 * MINUTE, 1)})[-1].endswith("(by one earlier run)")


@pytest.mark.parametrize(
    ("elapsed", "told"),
    [(11 * MINUTE, "longer than usual"), (10 * MINUTE - MILLISECOND, "less than 1s left")],
)
def test_what_is_nearly_or_more_than_over_is_told_so(elapsed: int, told: str) -> None:
    assert f"estimate: {told}" in _drawn([_running(1)], KNOWN, elapsed)[-1]


def test_one_job_without_history_leaves_the_end_open() -> None:
    assert "estimate" not in " ".join(_drawn([_running(1), _running(2, None)], KNOWN))


def test_of_many_that_run_some_are_shown() -> None:
    drawn = _drawn([_running(number) for number in range(1, 12)], {})
    assert drawn[-1] == "  and 3 more"


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_name_leaves_its_line_or_steers_the_terminal(width: int) -> None:
    jobs = [_running(1, HOSTILE), *(make_job(id=number, name=HOSTILE) for number in range(2, 5))]
    drawn = _drawn(jobs, {HOSTILE: Usual(MINUTE, 2)}, width=width)
    assert len(drawn) == 3
    assert max(map(cell_len, drawn)) <= width
    assert not {"\x1b", "\x07", "\u202e"}.intersection("".join(drawn))


def test_every_status_that_a_job_can_have_is_counted() -> None:
    assert {"running", "queued", "success"} <= set(STATUSES)
    drawn = _drawn([make_job("completed", id=7, outcome="aborted"), _running(1)], {})
    assert drawn[0] == "4m  1 running  1 aborted"

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console

from inturn.cli import render_roster
from inturn.core.moment import MINUTE
from inturn.core.roster import ALIVE, DEAD, UNVERIFIED, Line, Member
from inturn.core.views import Keeper
from tests.builders import START, later

WALL = later(5 * MINUTE).wall
HOSTILE = "\x1b[2J[red]x[/red]\u202e" + "y" * 100


def member(life: str = ALIVE, accepting: bool = True, queue: str = "gpu", ceiling: int | None = 2) -> Member:
    keeper = Keeper(3, "worker", "token", "4711:1:boot:1", 1, 1, START.wall, None, 0)
    return Member(keeper, "0", accepting, 4, 1, {queue: ceiling}, tuple(range(1, 9)), life)


def drawn(draw: Callable[[Console], None], width: int = 110) -> str:
    file = io.StringIO()
    draw(Console(file=file, width=width, color_system=None, force_terminal=True, highlight=False))
    return file.getvalue()


def test_an_owner_is_shown_with_its_life_its_places_and_its_first_jobs() -> None:
    text = drawn(lambda console: render_roster.members(console, [member(DEAD)], WALL))
    row = text.splitlines()[1].split()
    assert row[:5] == ["3", "worker", "4711", "dead", "5m"]
    assert "1 of 4" in text
    assert "gpu (≤ 2)" in text
    assert "1, 2, 3, 4, 5, …" in text


def test_a_worker_that_is_about_to_end_says_so() -> None:
    text = drawn(lambda console: render_roster.members(console, [member(accepting=False)], WALL))
    assert "claims no more" in text


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (member(), "worker 3 (process 4711, alive): 1 of 4, ceiling 2"),
        (member(UNVERIFIED, ceiling=None), "worker 3 (process 4711, unverified): 1 of 4"),
        (member(DEAD), "no live worker serves it → inturn work --queue gpu"),
        (member(accepting=False), "no live worker serves it → inturn work --queue gpu"),
    ],
)
def test_a_queue_tells_who_serves_it(one: Member, told: str) -> None:
    line = Line("gpu", {"queued": 2, "running": 1}, 1, (one,), "active", paused=True)
    text = drawn(lambda console: render_roster.lines(console, [line]))
    assert [row.rstrip() for row in text.splitlines()] == [
        "queue gpu, paused",
        "  2 queued  1 running",
        f"  {told}",
        "  not settled: jobs hold slots",
    ]


@pytest.mark.parametrize("width", [20, 60, 110])
def test_names_cannot_steer_the_terminal_and_tables_keep_to_it(width: int) -> None:
    one = member(queue=HOSTILE)
    line = Line(HOSTILE, {}, 0, (one,), "")
    text = drawn(lambda console: render_roster.members(console, [one], WALL), width)
    assert all(cell_len(row) <= width for row in text.splitlines())
    text += drawn(lambda console: render_roster.lines(console, [line]), width)
    assert "\x1b[2J" not in text
    assert "\u202e" not in text


def test_where_there_is_nothing_that_is_said() -> None:
    assert drawn(lambda console: render_roster.members(console, [], WALL)) == "no process owns a job\n"
    assert drawn(lambda console: render_roster.lines(console, [])) == "no queues\n"


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_owners_and_what_they_do_fit_any_width(width: int) -> None:
    supervisor = Member(member().keeper._replace(kind="supervisor"), "0", False, 1, 0, {}, (12,))
    text = drawn(
        lambda console: render_roster.members(console, [member(queue=HOSTILE), supervisor], WALL), width
    )
    assert max(map(cell_len, text.splitlines())) <= width
    assert {"PID", "LIFE", "QUEUES", "JOBS"} <= set(text.splitlines()[0].split())

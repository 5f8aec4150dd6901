from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from inturn.cli import render, render_job
from inturn.core.job import STATUSES
from inturn.core.moment import MINUTE, SECOND
from inturn.core.phrases import instant
from inturn.core.reasons import Agent, Reason
from inturn.core.retry import Policy
from inturn.core.views import Dossier, Holder, LedgerEntry, Scope, Totals, View
from tests.builders import (
    START,
    at,
    ended,
    judged_edge,
    later,
    make_condition,
    make_edge,
    make_job,
    make_run,
    make_spec,
)

WALL = later(5 * MINUTE).wall

# What a terminal obeys, or what turns the direction of a text.
_STEERING = {
    *map(chr, range(32)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067",
} - {"\n"}

HOSTILE = "\x1b]0;owned\x07\x1b[2J[red]x[/red]\u202egnp.exe\t漢字" + "y" * 200


def _drawn(draw: Callable[[Console], None], width: int = 110, colours: bool = False) -> str:
    file = io.StringIO()
    system: Any = "standard" if colours else None
    draw(Console(file=file, width=width, color_system=system, force_terminal=True, highlight=False))
    return file.getvalue()


def _view(phase: str = "running", argv: tuple[bytes, ...] = (b"true",), **fields: Any) -> View:
    job = make_job(phase, **fields)
    return View(job, argv, (make_run(job),) if job.runs else ())


def _dossier(text: str) -> Dossier:
    """A job that has everything that can be shown, with `text` wherever a user chooses one."""
    raw = text.encode("utf-8", "surrogateescape")
    job = make_job("running", name=text, pool="p", queue="q", bypass_count=2, attempts=1, runs=2, reason=text)
    runs = (
        ended(make_run(job), "failure", exit_code=3, diagnostic=text, max_rss=2**30),
        make_run(job, number=2),
    )
    edges = (make_edge(parent_name=text), judged_edge("success", parent_name=text))
    conditions = (
        make_condition(argument=raw, observed_at=START.wall, diagnostic=text),
        make_condition("delay"),
    )
    view = View(job, (raw, b"\xff"), runs, None, edges, conditions, ((text, text), ("k", None)))
    spec = make_spec(Policy(delay=SECOND), environment=(b"X=" + raw,), cwd=raw, note=text, max_crashes=None)
    reason = Reason("x", text, text, 7, (Reason("y", text),))
    entry = LedgerEntry(9, 7, START.wall, "ended", "running", "completed", text, 1)
    agent = Agent("supervisor", 123, "alive")
    holder = Holder(7, text, 1, "p", "q", 2, "0", START.wall)
    return Dossier(view, spec, text, holder, (make_edge(),), (entry,), agent, (reason,))


def _everything(text: str) -> list[Callable[[Console], None]]:
    found = _dossier(text)
    scopes = (Scope("", None, False, 1, 3, ()), Scope("p", 1, True, 1, 2, (found.holder,), ("0",)))  # type: ignore[arg-type]
    counts = {("q", "p", status): number for number, status in enumerate(STATUSES, 1)}
    return [
        lambda console: render.jobs(console, [found.view, _view()], WALL),
        lambda console: render.totals(console, Totals(counts, scopes)),
        lambda console: render.scopes(console, scopes, WALL),
        lambda console: render.events(console, found.entries, WALL),
        lambda console: render.reasons(console, found.view.job, found.reasons),
        lambda console: render_job.dossier(console, found, True, WALL),
        lambda console: render_job.dossier(console, found, False, WALL),
    ]


@pytest.mark.parametrize("width", [40, 55, 80, 110, 200])
@pytest.mark.parametrize("text", ["prepare", HOSTILE])
def test_whatever_is_drawn_fits_the_terminal(width: int, text: str) -> None:
    for draw in _everything(text):
        lines = _drawn(draw, width).splitlines()
        assert lines
        assert max(map(cell_len, lines)) <= width


def test_nothing_that_a_user_chose_steers_the_terminal() -> None:
    for draw in _everything(HOSTILE):
        assert not _STEERING.intersection(_drawn(draw))


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=60), st.integers(40, 120))
def test_any_name_fits_and_steers_nothing(name: str, width: int) -> None:
    drawn = _drawn(lambda console: render.jobs(console, [_view(name=name)], WALL), width)
    assert not _STEERING.intersection(drawn)
    assert max(map(cell_len, drawn.split("\n"))) <= width


def test_markup_of_a_user_is_shown_as_it_was_written() -> None:
    for draw in _everything("[bold]x[/bold] [nonsense")[:1]:
        assert "[bold]x[/bold] [nonsense" in _drawn(draw)


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_a_style_of_its_meaning(status: str) -> None:
    assert status in render.STYLES


@pytest.mark.parametrize(
    ("status", "colour"), [("success", "32"), ("failure", "31"), ("lost", "31"), ("cancelled", "2")]
)
def test_an_outcome_has_its_colour(status: str, colour: str) -> None:
    drawn = _drawn(
        lambda console: render.jobs(console, [_view("completed", outcome=status)], WALL), colours=True
    )
    assert f"\x1b[{colour}m{status}" in drawn


def test_a_narrow_terminal_gets_the_columns_that_matter_most() -> None:
    def draw(console: Console) -> None:
        render.jobs(console, [_view(name="x", pool="p")], WALL)

    assert _drawn(draw, 40).split("\n")[0].split() == ["ID", "STATUS", "NAME", "COMMAND"]
    assert "QUEUE/POOL" in _drawn(draw, 110)


@pytest.mark.parametrize(
    ("view", "told"),
    [
        (_view("running"), "for 5m"),
        (_view("waiting"), "for 5m"),
        (_view("completed"), "5m ago"),
        (_view("queued", in_line=0, due=at(later(15 * MINUTE))), "in 10m"),
    ],
)
def test_times_are_told_from_now(view: View, told: str) -> None:
    assert render.when(view, WALL) == told


def test_where_there_is_nothing_it_is_said() -> None:
    assert _drawn(lambda console: render.jobs(console, [], WALL)).strip() == "no jobs"
    assert _drawn(lambda console: render.events(console, [], WALL)).strip() == "no events"
    nothing = Totals({}, (Scope("", None, False, 0, 0, ()),))
    assert _drawn(lambda console: render.totals(console, nothing)).strip() == "no jobs"


def test_reasons_stand_below_what_they_explain_with_the_way_out() -> None:
    reasons = (Reason("full", "the store is full", "inturn limit 2", None, (Reason("holder", "job 3"),)),)
    lines = _drawn(lambda console: render.reasons(console, make_job(name="x"), reasons)).splitlines()
    assert lines[0] == 'job 7 ("x") is queued'
    assert "the store is full" in lines[1]
    assert "→ inturn limit 2" in lines[2]
    assert lines[3].index("job 3") > lines[1].index("the store")


def test_values_of_the_environment_are_drawn_only_on_request() -> None:
    found = _dossier("x")._replace(spec=make_spec(environment=(b"SECRET=hush",)))
    assert "hush" not in _drawn(lambda console: render_job.dossier(console, found, False, WALL))
    assert "hush" in _drawn(lambda console: render_job.dossier(console, found, True, WALL))


def test_only_what_differs_from_the_usual_is_drawn_of_a_specification() -> None:
    found = _dossier("x")
    drawn = _drawn(lambda console: render_job.dossier(console, found, False, WALL))
    assert "policy.retry_delay" in drawn
    assert "probe_timeout" not in drawn


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_count_is_torn_from_what_it_counts(width: int) -> None:
    counts = {("q", "p", status): 1 for status in STATUSES}
    scope = Scope("", None, False, 0, 0, ())
    lines = _drawn(lambda console: render.totals(console, Totals(counts, (scope,))), width).splitlines()
    told = [word for line in lines for word in line.strip().split("  ")]
    assert {f"1 {status}" for status in STATUSES} <= set(told)
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize(("width", "at"), [(40, "5m ago"), (80, "5m ago"), (120, instant(START.wall))])
def test_the_time_of_an_event_is_whole_at_any_width(width: int, at: str) -> None:
    entry = LedgerEntry(9, 7, START.wall, "ended", "running", "completed", "dependency_unsatisfied", 1)
    assert at in _drawn(lambda console: render.events(console, [entry], WALL), width)


def test_who_has_which_device_is_drawn() -> None:
    holder = Holder(7, "x", 2, "gpu", "", 1, "0,GPU-1", START.wall)
    scopes = (Scope("", None, False, 2, 0, (holder,)), Scope("gpu", 2, True, 2, 0, (holder,), ("0", "GPU-1")))
    drawn = _drawn(lambda console: render.scopes(console, scopes, WALL))
    assert "devices 0, GPU-1" in drawn
    assert 'job 7 ("x")  for 5m  on 0, GPU-1' in drawn


def test_when_something_happened_is_shown_from_a_modest_width_on() -> None:
    def draw(console: Console) -> None:
        render.jobs(console, [_view("completed", name="x" * 100)], WALL)

    assert "5m ago" in _drawn(draw, 50)


def test_of_very_many_jobs_that_it_waits_for_some_are_drawn_and_the_rest_counted() -> None:
    found = _dossier("x")
    edges = tuple(make_edge(parent_id=number) for number in range(100, 1100))
    found = found._replace(view=found.view._replace(edges=edges), dependents=edges)
    drawn = _drawn(lambda console: render_job.dossier(console, found, False, WALL))
    assert "and 982 more; --json has all of them" in drawn
    assert "and 980 more; --json has all of them" in drawn
    assert len(drawn.splitlines()) < 100

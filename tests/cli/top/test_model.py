from __future__ import annotations

import io
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from inturn.cli.top import model
from inturn.cli.top.model import Detail, Snapshot, Wanted
from inturn.core.moment import SECOND, Deadline
from inturn.core.reasons import Reason
from inturn.core.views import Scope, Totals, View
from inturn.service.board import Page
from inturn.service.family import Family, Kin
from inturn.service.tail import Tail
from tests.builders import START, later, make_job, make_run

HOSTILE = "\x1b]0;owned\x07\x1b[2J[red]x[/red]\u202egnp.exe\t漢字"


def _view(phase: str = "queued", argv: tuple[bytes, ...] = (b"make", b"all"), **fields: Any) -> View:
    job = make_job(phase, **fields)
    return View(job, argv, (make_run(job, started_at=START.wall),) if job.runs else ())


def _family(view: View, waiting: int = 0) -> Family:
    return Family(Kin(view.job, ()), Kin(view.job, ()), waiting)


def _snapshot(wanted: Wanted | None = None, page: Page | None = None, **fields: Any) -> Snapshot:
    return Snapshot(wanted or Wanted(), page or Page(), fields.pop("totals", Totals({}, ())), **fields)


@pytest.mark.parametrize("width", [20, 38, 60, 84, 118, 300])
def test_a_table_is_as_wide_as_there_is_room(width: int) -> None:
    chosen = model.columns(width)
    assert [it.title for it in chosen][:3] == ["ID", "STATUS", "JOB"]
    assert sum(it.width + 2 for it in chosen) == max(width, 6 + 2 + 7 + 2 + 10 + 2 + 11 + 2)


def test_a_row_shows_the_job_as_it_is_at_that_moment() -> None:
    due = Deadline(START.wall + 5 * SECOND, START.boot, START.mono + 5 * SECOND)
    view = _view(name="prepare", in_line=0, due=due, queue="night", pool="gpu", priority=4)
    chosen = model.columns(120)
    early = [cell.plain for cell in model.row(view, chosen, START)]
    assert early == ["7", "scheduled", "prepare  make all", "night/gpu", "4", "0", "in 5s"]
    late = [cell.plain for cell in model.row(view, chosen, later(9 * SECOND))]
    assert (late[1], late[6]) == ("queued", "for 9s")


def test_what_users_chose_steers_nothing_and_is_no_markup() -> None:
    view = _view("running", (HOSTILE.encode(),), name=HOSTILE, queue=HOSTILE, reason=HOSTILE)
    detail = Detail(view.job, (Reason("x", HOSTILE, HOSTILE),), _family(view), Tail(7))
    console = Console(file=io.StringIO(), width=80, color_system=None)
    totals = Totals({(HOSTILE, "", "running"): 1}, (Scope(HOSTILE, 2, False, 1, 0, ()),))
    for shown in (
        *model.row(view, model.columns(120), START),
        model.headline(_snapshot(problem=HOSTILE), HOSTILE),
        model.headline(_snapshot(), HOSTILE),
        model.lanes(totals, 40),
        model.why(detail),
    ):
        console.print(shown)
    console.print(model.caption(_snapshot(Wanted(text=HOSTILE))), markup=False)
    console.print(model.plan("cancel", view, None).question, markup=False)
    out = console.file.getvalue()  # type: ignore[attr-defined]
    assert not set(out) & {"\x1b", "\x07", "\u202e", "\t"}
    assert out.count("[red]x[/red]") >= 7


def test_the_headline_counts_by_status_or_says_what_is_wrong() -> None:
    totals = Totals({("q", "", "queued"): 3, ("q", "", "success"): 2, ("", "", "queued"): 1}, ())
    assert model.headline(_snapshot(totals=totals), "/store").plain == "inturn 4 queued  2 success  /store"
    assert model.headline(_snapshot(), "/store").plain == "inturn no jobs  /store"
    assert model.headline(_snapshot(problem="it is gone"), "/store").plain == "inturn it is gone"


def test_the_caption_tells_which_jobs_are_shown() -> None:
    assert model.caption(_snapshot()) == "all jobs"
    page = Page(older=40, searched=20_000)
    caption = model.caption(_snapshot(Wanted("live", "x", 90), page))
    assert caption == "live, with 'x', of the newest 20000, older than 90, more with ]"


def test_queues_and_pools_show_what_waits_and_what_is_taken() -> None:
    counts = {("night", "gpu", "queued"): 2, ("night", "", "success"): 5, ("", "gpu", "running"): 1}
    scopes = (Scope("", None, False, 0, 0, ()), Scope("gpu", 4, False, 1, 2, (), (), True))
    shown = model.lanes(Totals(counts, scopes, frozenset({"held"})), 9).plain.splitlines()
    assert shown == [
        "queue held paused",
        "queue night  2 queued  5 ended",
        "pool gpu  1/4  paused  2 in line",
        "██░░░░░░",
    ]
    assert model.lanes(Totals({}, ()), 30).plain == "no queues, and no limits"


@pytest.mark.parametrize(
    ("used", "slots", "shown"),
    [(0, 4, "░░░░"), (1, 100, "█░░░"), (2, 4, "██░░"), (4, 4, "████"), (9, 4, "████")],
)
def test_a_bar_is_full_only_when_nothing_is_free(used: int, slots: int, shown: str) -> None:
    assert model.bar(used, slots, 4).plain == shown
    assert cell_len(shown) == 4


def test_the_tree_has_the_reasons_and_the_family_in_both_directions() -> None:
    job = make_job("waiting", name="merge")
    parent = Kin(make_job("running", id=3, name="shard"), ("success",))
    child = Kin(make_job("waiting", id=9), ("failure", "lost"), more=4)
    family = Family(Kin(job, (), (parent,)), Kin(job, (), (child,)), 1)
    console = Console(file=io.StringIO(), width=60, color_system=None)
    console.print(model.why(Detail(job, (Reason("dependency", "it waits"),), family, Tail(7))))
    assert console.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "7 merge waiting",
        "├── it waits",
        "├── depends on",
        "│   └── 3 shard running",
        "└── needed by",
        "    └── 9 waiting  if failure or lost",
        "        └── and 4 more",
    ]


@pytest.mark.parametrize(
    ("verb", "fields", "waiting", "asked"),
    [
        ("cancel", {"phase": "running"}, 0, "Cancel job 7? It is running: its processes are ended."),
        ("cancel", {"phase": "paused", "held_phase": "running", "runs": 1}, 0, "Cancel job 7? It is paused:"),
        ("cancel", {"phase": "running"}, 2, "2 jobs wait for its end."),
        ("cancel", {"phase": "queued"}, 1, "Cancel job 7? 1 job waits for its end."),
        ("cancel", {"phase": "queued"}, 0, ""),
        ("cancel", {"phase": "completed"}, 3, ""),
        ("revive", {"phase": "completed", "outcome": "failure"}, 0, "Retry job 7 with all that were aborted"),
        ("retry", {"phase": "completed", "outcome": "failure"}, 0, ""),
        ("retry", {"phase": "completed"}, 0, "It has succeeded"),
        ("pause", {"phase": "running"}, 2, ""),
        ("priority", {"phase": "queued"}, 2, ""),
    ],
)
def test_what_destroys_something_is_asked_for(
    verb: str, fields: dict[str, Any], waiting: int, asked: str
) -> None:
    view = _view(**fields)
    plan = model.plan(verb, view, _family(view, waiting), 1)
    assert (plan.deed.verb, plan.deed.job_id, plan.deed.step) == (verb, 7, 1)
    assert asked in plan.question
    assert bool(asked) == bool(plan.question)

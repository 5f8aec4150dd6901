"""What the view shows of what was read, and what its keys would do: pure, and without a terminal.

What users chose is shown as text: `printable` escapes what a terminal would obey, and `Text` knows no markup.
"""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from inturn.cli import lines, render
from inturn.cli.text import printable
from inturn.core.job import OUTCOMES
from inturn.core.transitions import holds_slots
from inturn.core.views import as_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NamedTuple

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.reasons import Reason
    from inturn.core.views import Scope, Totals, View
    from inturn.service.board import Page
    from inturn.service.family import Family, Kin
    from inturn.service.tail import Tail
else:
    from inturn.core.records import NamedTuple

# What the key for the status goes through; empty is every job.
STATUS_CYCLE = ("", "live", "active", "queued", "waiting", "paused", "ended", "unsuccessful")

_BAR = 40  # the widest bar of a pool, in columns
_FULL, _FREE = "█", "░"


class Wanted(NamedTuple):
    """What is to be read: the filters, the page (older than the job `below`) and the job that is selected."""

    status: str = ""
    text: str = ""
    below: int | None = None
    selected: int | None = None


class Detail(NamedTuple):
    """The selected job: itself, why it is where it is, its family, and the end of its log."""

    job: Job
    reasons: tuple[Reason, ...]
    family: Family | None
    tail: Tail


class Snapshot(NamedTuple):
    """What one look at the store gave. `problem` is why there was nothing to be seen, empty if there was."""

    wanted: Wanted
    page: Page
    totals: Totals
    detail: Detail | None = None
    problem: str = ""


class Column(NamedTuple):
    """A column of the jobs; `width` 0 is the one that takes the room that the others leave."""

    title: str
    width: int


# --- the jobs

_ID, _STATUS, _JOB = Column("ID", 7), Column("STATUS", 10), Column("JOB", 0)
_LANE, _PRIORITY = Column("QUEUE/POOL", 16), Column("PRI", 4)
_TRIES, _TIME = Column("RUNS", 5), Column("TIME", 11)

# From so many columns of the table on, it has these.
_LAYOUTS = (
    (84, (_ID, _STATUS, _JOB, _LANE, _PRIORITY, _TRIES, _TIME)),
    (60, (_ID, _STATUS, _JOB, _PRIORITY, _TRIES, _TIME)),
    (0, (_ID, _STATUS, _JOB, _TIME)),
)
_GAP = 2  # around each cell
_NARROWEST = 6


def columns(width: int) -> tuple[Column, ...]:
    """The columns of a table of this width, each with the width it gets."""
    chosen = next(found for least, found in _LAYOUTS if width >= least)
    left = width - sum(it.width + _GAP for it in chosen)
    return tuple(it if it.width else it._replace(width=max(left, _NARROWEST)) for it in chosen)


def row(view: View, chosen: Sequence[Column], now: Now) -> tuple[Text, ...]:
    """The cells of a job, as it is at `now`."""
    view = view._replace(job=as_of(view.job, now))
    job = view.job
    cells = {
        _ID.title: lambda: render.plain(job.id),
        _STATUS.title: lambda: render.status(job.status),
        _JOB.title: lambda: _what(view),
        _LANE.title: lambda: render.plain("/".join(filter(None, (job.queue, job.pool)))),
        _PRIORITY.title: lambda: render.plain(job.priority),
        _TRIES.title: lambda: render.plain(
            job.attempts if job.attempts == job.runs else f"{job.attempts}/{job.runs}"
        ),
        _TIME.title: lambda: render.plain(render.when(view, now.wall)),
    }
    return tuple(cells[it.title]() for it in chosen)


def _what(view: View) -> Text:
    """The name, and the command in what room is left."""
    command = render.plain(lines.command(view.argv))
    if view.job.name is None:
        return command
    text = render.plain(view.job.name, "bold")
    return text.append("  ").append_text(Text(command.plain, style="dim"))


# --- the lines above


def headline(snapshot: Snapshot, where: str) -> Text:
    """The store `where` it is and how many jobs are where; or what is wrong."""
    text = Text("inturn ", style="bold", no_wrap=True, overflow="ellipsis")
    if snapshot.problem:
        return text.append(printable(snapshot.problem), "bold red")
    counts = snapshot.totals.by_status()
    told = [(f"{counts[word]} {word}", style) for word, style in render.STYLES.items() if counts.get(word)]
    for part, style in told:
        text.append(part, f"not bold {style}").append("  ")
    if not told:
        text.append("no jobs  ", "not bold dim")
    return text.append(printable(where), "not bold dim")


def caption(snapshot: Snapshot) -> str:
    """What the table shows. Printable."""
    wanted, page = snapshot.wanted, snapshot.page
    parts = [wanted.status or "all jobs"]
    if wanted.text:
        parts.append(f"with {printable(wanted.text)!r}")
    if page.searched is not None:
        parts.append(f"of the newest {page.searched}")
    if wanted.below is not None:
        parts.append(f"older than {wanted.below}")
    if page.older is not None:
        parts.append("more with ]")
    return ", ".join(parts)


# --- queues and pools


def lanes(totals: Totals, width: int) -> Text:
    """A line for each queue and each capacity that is limited or in use, and a bar for the limited ones."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for queue in totals.queues:
        _queue(text, queue, totals.by_status(queue=queue), queue in totals.paused)
    for scope in totals.scopes:
        if scope.slots is not None or scope.used:
            _scope(text, scope, width)
    if not text.plain:
        text.append("no queues, and no limits", "dim")
    text.rstrip()
    return text


def _queue(text: Text, name: str, counts: Mapping[str, int], paused: bool) -> None:
    text.append("queue ").append(printable(name), "bold")
    if paused:
        text.append(" paused", render.STYLES["paused"])
    for word, style in render.STYLES.items():
        if counts.get(word) and word not in OUTCOMES:
            text.append(f"  {counts[word]} {word}", style)
    done = sum(counts.get(word, 0) for word in OUTCOMES)
    text.append(f"  {done} ended\n" if done else "\n", "dim")


def _scope(text: Text, scope: Scope, width: int) -> None:
    text.append("pool " if scope.name else "store").append(printable(scope.name), "bold")
    text.append(f"  {scope.used}" + (" in use" if scope.slots is None else f"/{scope.slots}"))
    if scope.paused:
        text.append("  paused", render.STYLES["paused"])
    if scope.in_line:
        text.append(f"  {scope.in_line} in line", "yellow")
    text.append("\n")
    if scope.slots is not None:
        text.append_text(bar(scope.used, scope.slots, max(min(width - 1, _BAR), 4))).append("\n")


def bar(used: int, slots: int, width: int) -> Text:
    """How much of a capacity is taken. What is in use shows, and so does what is free."""
    filled = min(used, slots) * width // slots
    if used and not filled:
        filled = 1
    text = Text(_FULL * filled, "yellow" if used >= slots else "green")
    return text.append(_FREE * (width - filled), "dim")


# --- the selected job


def why(detail: Detail) -> Tree:
    """Why it is where it is, and its dependencies and dependents as a tree."""
    job = detail.job
    root = Tree(_label(job), guide_style="dim")
    render.grow(root, detail.reasons)
    if detail.family is not None:
        for title, kin in (("depends on", detail.family.above), ("needed by", detail.family.below)):
            if kin.kin or kin.more:
                _grow(root.add(Text(title, style="bold")), kin)
    return root


def _grow(tree: Tree, kin: Kin) -> None:
    for one in kin.kin:
        wanted = "" if one.outcomes == ("success",) else f"  if {' or '.join(one.outcomes)}"
        _grow(tree.add(_label(one.job).append(wanted, "dim")), one)
    if kin.more:
        tree.add(Text(f"and {kin.more} more", style="dim"))


def _label(job: Job) -> Text:
    text = render.plain(job.id, "bold")
    if job.name is not None:
        text.append(f" {printable(job.name)}")
    return text.append(" ").append_text(render.status(job.status))


# --- the actions


class Deed(NamedTuple):
    """Something that is to be done to one job. `step` is by how much the priority changes."""

    verb: str
    job_id: int
    step: int = 0


class Plan(NamedTuple):
    """A deed, and the question to be asked before it, empty if it destroys nothing."""

    deed: Deed
    question: str = ""


def plan(verb: str, view: View, family: Family | None, step: int = 0) -> Plan:
    """What a key does to this job: `pause`, `resume`, `cancel`, `retry`, `revive` or `priority`.

    `family` is None if it is not known yet.
    """
    job = view.job
    who = f"job {job.id}" + (f" ({printable(job.name)})" if job.name is not None else "")
    return Plan(Deed(verb, job.id, step), "".join(_question(verb, job, who, family)))


def _question(verb: str, job: Job, who: str, family: Family | None) -> Iterator[str]:
    waiting = family.waiting if family is not None else 0
    lost = "" if not waiting else f" {waiting} {'job waits' if waiting == 1 else 'jobs wait'} for its end."
    if verb == "cancel" and holds_slots(job):
        yield f"Cancel {who}? It is {job.status}: its processes are ended.{lost}"
    elif verb == "cancel" and job.phase != "completed" and waiting:
        yield f"Cancel {who}?{lost}"
    elif verb == "revive":
        yield f"Retry {who} with all that were aborted because of it?"
    elif verb == "retry" and job.outcome == "success":
        yield f"Retry {who}? It has succeeded, and would do its work again."

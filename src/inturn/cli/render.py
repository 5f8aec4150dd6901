"""Tables and colours for a person at a terminal. Imported only there: rich costs as much as all the rest.

What users chose is shown as text: `printable` escapes what a terminal would obey, `Text` knows no markup.
"""

from __future__ import annotations

from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from inturn.cli import lines
from inturn.cli.text import printable
from inturn.core.job import ACTIVE
from inturn.core.phrases import ago, instant, label, rough

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console

    from inturn.core.job import Job
    from inturn.core.reasons import Reason
    from inturn.core.views import LedgerEntry, Scope, Totals, View

# Green is good, red is bad, blue moves, yellow waits, and what nobody wants any more is dim.
STYLES = {
    **dict.fromkeys(("submitting", "waiting", "queued", "scheduled", "backoff"), "yellow"),
    **dict.fromkeys(ACTIVE, "blue"),
    "paused": "magenta",
    "success": "green",
    **dict.fromkeys(("failure", "timed_out", "aborted", "lost", "submission_failed"), "red"),
    "cancelled": "dim",
}

# From this width of the terminal on, a column is worth its place.
_MODEST, _ROOMY, _WIDE = 50, 70, 100


def plain(value: object, style: str = "") -> Text:
    """A value as text that steers nothing; what does not fit ends in an ellipsis."""
    return Text(printable(str(value)), style=style, no_wrap=True, overflow="ellipsis")


def status(word: str) -> Text:
    """A status in its colour."""
    return plain(word, STYLES.get(word, ""))


def remark(console: Console, text: str) -> None:
    """Something about what was shown."""
    console.print(Text(text, style="dim"))


def jobs(console: Console, views: Sequence[View], wall: int) -> None:
    """One line a job; a narrow terminal gets fewer columns."""
    if views:
        console.print(job_table(views, wall, console.width))
    else:
        remark(console, "no jobs")


def job_table(views: Sequence[View], wall: int, width: int) -> Table:
    """A heading, and one line a job, in so many columns of a terminal."""
    columns: list[tuple[str, Callable[[View], Text]]] = [
        ("ID", lambda view: plain(view.job.id)),
        ("STATUS", lambda view: status(view.job.status)),
    ]
    if any(view.job.name is not None for view in views):
        columns.append(("NAME", lambda view: plain(view.job.name or "")))
    if width >= _WIDE:
        columns.append(("QUEUE/POOL", lambda view: plain(_where(view.job))))
    if width >= _ROOMY:
        columns.append(("RUNS", lambda view: plain(_runs(view.job))))
    if width >= _MODEST:
        columns.append(("WHEN", lambda view: plain(when(view, wall))))
    if width >= _ROOMY:
        columns.append(("EXIT", lambda view: plain(lines.how_it_ended(view.last_run) or "")))
    columns.append(("COMMAND", lambda view: plain(lines.command(view.argv))))
    table = grid([heading for heading, _ in columns], fixed=("ID", "STATUS", "RUNS", "WHEN", "EXIT"))
    for view in views:
        table.add_row(*(cell(view) for _, cell in columns))
    return table


def _where(job: Job) -> str:
    return f"{job.queue}/{job.pool}" if job.pool else job.queue


def _runs(job: Job) -> str:
    """The runs of this round, and of how many in all."""
    return str(job.attempts) if job.attempts == job.runs else f"{job.attempts}/{job.runs}"


def when(view: View, wall: int) -> str:
    """The time that matters: how long it runs or waits, when it is due, how long ago it ended."""
    job = view.job
    if job.completed_at is not None:
        return ago(job.completed_at, wall)
    if job.status in ("scheduled", "backoff"):
        return "in " + rough(job.due.wall - wall)
    run = view.last_run
    since = run.started_at if run is not None and job.phase in ACTIVE else None
    return "for " + rough(wall - (since or job.submitted_at))


def totals(console: Console, found: Totals) -> None:
    """Counts in a line, then queues and pools."""
    _counts(console, found.by_status())
    for queue in found.queues:
        paused = (", paused", STYLES["paused"]) if queue in found.paused else ""
        console.print(Text.assemble("\nqueue ", (printable(queue), "bold"), paused))
        _counts(console, found.by_status(queue=queue))
    store, *pools = found.scopes
    if store.slots is not None or store.used:
        console.print(Text.assemble("\n", _usage("store", store)))
    for pool in pools:
        console.print(Text.assemble("\n", _usage("pool", pool)))
        _counts(console, found.by_status(pool=pool.name))


def _counts(console: Console, by_status: Mapping[str, int]) -> None:
    console.print(counts(by_status, console.width))


def counts(by_status: Mapping[str, int], width: int) -> Text:
    """Counts by status side by side, in as many lines as the width asks for: none is torn apart."""
    told = [(f"{count} {name}", STYLES[name]) for name in STYLES if (count := by_status.get(name))]
    if not told:
        return Text("no jobs", style="dim")
    text = Text()
    left = width
    for word, style in told:
        if left < width:
            apart = left >= len(word) + 2
            text.append("  " if apart else "\n")
            left = left - 2 if apart else width
        text.append(word, style)
        left -= len(word)
    return text


def _usage(kind: str, scope: Scope) -> Text:
    name = (f" {printable(scope.name)}", "bold") if scope.name else ""
    full = scope.free == 0
    used = f" {scope.used} of {scope.slots} slots in use"
    if scope.slots is None:
        used = f" {scope.used} slots in use, no limit"
    paused = (", paused", STYLES["paused"]) if scope.paused else ""
    return Text.assemble(kind, name, (used, "yellow" if full else ""), paused)


def scopes(console: Console, found: Iterable[Scope], wall: int) -> None:
    """Each capacity, and under it who holds slots of it, and which of its devices."""
    for place, scope in enumerate(found):
        if place:
            console.print()
        usage = _usage("pool" if scope.name else "store", scope)
        console.print(usage.append(f", {scope.in_line} in line") if scope.in_line else usage)
        if scope.devices:
            devices = Text(f"devices {', '.join(map(printable, scope.devices))}", style="dim")
            console.print(Padding(devices, (0, 0, 0, 2)))
        if scope.holders:
            console.print(_holders(scope, wall))


def _holders(scope: Scope, wall: int) -> Padding:
    table = Table.grid(padding=(0, 2, 0, 0))
    for column in range(4 if scope.devices else 3):
        table.add_column(overflow="fold", ratio=1 if column == 1 else None, no_wrap=column in (0, 2))
    for it in scope.holders:
        who = Text(label(it.job_id, it.name))
        cells = [Text(str(it.slots)), who, plain("for " + rough(wall - it.granted_at))]
        if scope.devices:
            cells.append(Text("on " + printable(it.devices).replace(",", ", ")))
        table.add_row(*cells)
    return Padding(table, (0, 0, 0, 2))


def events(console: Console, entries: Sequence[LedgerEntry], wall: int) -> None:
    """The ledger, a line for each entry."""
    if not entries:
        remark(console, "no events")
        return
    columns: list[tuple[str, Callable[[LedgerEntry], Text]]] = [
        ("ID", lambda it: plain(it.id)),
        ("AT", lambda it: plain(instant(it.at) if console.width >= _WIDE else ago(it.at, wall))),
        ("JOB", lambda it: plain(it.job_id)),
    ]
    if console.width >= _ROOMY:
        columns.append(("FROM", lambda it: plain(it.source or "")))
    columns.append(("TO", lambda it: plain(it.target, STYLES.get(it.reason or it.target, ""))))
    if console.width >= _WIDE:
        columns.append(("EVENT", lambda it: plain(it.kind)))
    columns.append(("REASON", lambda it: plain(it.reason or "")))
    if console.width >= _ROOMY:
        columns.append(("RUN", lambda it: plain(it.run or "")))
    table = grid([heading for heading, _ in columns], fixed=("ID", "AT", "JOB", "FROM", "TO", "RUN"))
    for it in entries:
        table.add_row(*(cell(it) for _, cell in columns))
    console.print(table)


def reasons(console: Console, job: Job, found: Sequence[Reason]) -> None:
    """The job, and below it the tree of reasons, each with what would change it."""
    root = Tree(
        Text.assemble(label(job.id, job.name), " is " if job.outcome is None else ": ", status(job.status))
    )
    grow(root, found)
    console.print(root)


def grow(tree: Tree, found: Iterable[Reason]) -> None:
    """Hang reasons on a tree."""
    for reason in found:
        told = Text(printable(reason.message), overflow="fold")
        if reason.fix:
            told.append(f"\n→ {printable(reason.fix)}", style="dim")
        grow(tree.add(told), reason.because)


def grid(headings: Iterable[str], fixed: Sequence[str]) -> Table:
    """A table without lines, whose `fixed` columns keep their width while the others give way."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(Text(heading, no_wrap=True, overflow="ellipsis"), no_wrap=heading in fixed)
    return table

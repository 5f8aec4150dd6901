"""Owners and queues for a person at a terminal."""

from __future__ import annotations

from rich.padding import Padding
from rich.text import Text

from inturn.cli.render import STYLES, counts, grid, plain, remark
from inturn.cli.text import printable
from inturn.core.phrases import rough
from inturn.core.roster import ALIVE, DEAD, UNSETTLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from inturn.core.roster import Line, Member

_LIVES = {ALIVE: "green", DEAD: "red"}

# From this width of the terminal on, more columns fit, and all of them.
_MODEST, _ROOMY = 50, 70

# So many of the jobs of an owner are named.
_NAMED = 5


def members(console: Console, found: Sequence[Member], wall: int) -> None:
    """One line an owner."""
    if not found:
        remark(console, "no process owns a job")
        return
    columns: list[tuple[str, Callable[[Member], Text]]] = [
        ("PID", lambda one: plain(one.keeper.pid)),
        ("LIFE", lambda one: plain(one.life, _LIVES.get(one.life, "yellow"))),
    ]
    roomy = console.width >= _ROOMY
    if console.width >= _MODEST:
        columns.insert(0, ("KIND", lambda one: plain(one.keeper.kind)))
    if roomy:
        columns.insert(0, ("ID", lambda one: plain(one.keeper.id)))
        columns.append(("FOR", lambda one: plain(rough(wall - one.keeper.registered_at))))
    if any(one.keeper.kind == "worker" for one in found):
        if roomy:
            columns.append(("BUSY", _busy))
        columns.append(("QUEUES", lambda one: plain(_served(one))))
    columns.append(("JOBS", lambda one: plain(_some(one.jobs))))
    table = grid([heading for heading, _ in columns], ("ID", "KIND", "PID", "LIFE", "BUSY"))
    for one in found:
        table.add_row(*(cell(one) for _, cell in columns))
    console.print(table)


def _busy(one: Member) -> Text:
    return plain(f"{one.busy} of {one.places}" if one.keeper.kind == "worker" else "")


def _served(one: Member) -> str:
    told = (
        name if ceiling is None else f"{name} (≤ {ceiling})" for name, ceiling in sorted(one.queues.items())
    )
    return ", ".join(told) + ("" if one.accepting or not one.queues else ", claims no more")


def _some(jobs: Sequence[int]) -> str:
    return ", ".join(map(str, jobs[:_NAMED])) + (", …" if len(jobs) > _NAMED else "")


def lines(console: Console, found: Sequence[Line]) -> None:
    """For each queue its jobs by status, its workers, and whether it is settled."""
    if not found:
        remark(console, "no queues")
    for place, it in enumerate(found):
        paused = (", paused", STYLES["paused"]) if it.paused else ""
        console.print(Text.assemble("\n" if place else "", "queue ", (printable(it.name), "bold"), paused))
        settled = f"not settled: {UNSETTLED[it.unsettled]}" if it.unsettled else "settled"
        below = (
            counts(it.counts, console.width - 2),
            Text(_workers(it), overflow="fold"),
            Text(settled, style="dim"),
        )
        for text in below:
            console.print(Padding(text, (0, 0, 0, 2)))


def _workers(it: Line) -> str:
    if not it.serving:
        return f"no live worker serves it → inturn work --queue {it.name}"
    return "; ".join(_worker(one, it.name) for one in it.serving)


def _worker(one: Member, queue: str) -> str:
    ceiling = one.queues[queue]
    at_most = "" if ceiling is None else f", ceiling {ceiling}"
    return (
        f"worker {one.keeper.id} (process {one.keeper.pid}, {one.life}): {one.busy} of {one.places}{at_most}"
    )

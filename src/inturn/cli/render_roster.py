"""Owners and queues for a person at a terminal."""

from __future__ import annotations

from rich.text import Text

from inturn.cli.render import STYLES, grid, plain, remark
from inturn.cli.text import printable
from inturn.core.phrases import rough
from inturn.core.roster import ALIVE, DEAD, UNSETTLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from inturn.core.roster import Line, Member

_LIVES = {ALIVE: "green", DEAD: "red"}

# So many of the jobs of an owner are named.
_NAMED = 5


def members(console: Console, found: Sequence[Member], wall: int) -> None:
    """One line an owner."""
    if not found:
        remark(console, "no process owns a job")
        return
    table = grid(
        ("ID", "KIND", "PID", "LIFE", "FOR", "BUSY", "QUEUES", "JOBS"), ("ID", "KIND", "PID", "LIFE")
    )
    for one in found:
        works = one.keeper.kind == "worker"
        table.add_row(
            plain(one.keeper.id),
            plain(one.keeper.kind),
            plain(one.keeper.pid),
            plain(one.life, _LIVES.get(one.life, "yellow")),
            plain(rough(wall - one.keeper.registered_at)),
            plain(f"{one.busy} of {one.places}" if works else ""),
            plain(_served(one)),
            plain(_some(one.jobs)),
        )
    console.print(table)


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
        told = [
            Text(f"{it.counts[name]} {name}", style=STYLES[name]) for name in STYLES if it.counts.get(name)
        ]
        console.print(Text("  ").append(Text("  ").join(told) if told else Text("no jobs", style="dim")))
        console.print(Text(f"  {_workers(it)}", overflow="fold"))
        settled = f"not settled: {UNSETTLED[it.unsettled]}" if it.unsettled else "settled"
        console.print(Text(f"  {settled}", style="dim"))


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

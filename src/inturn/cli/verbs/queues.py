"""`inturn queues`: how many jobs stand where, who serves them, and whether a drain would end."""

from __future__ import annotations

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.core import wire_roster
from inturn.service import roster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from rich.console import Console

    from inturn.core.roster import Line
    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "show the queues: their jobs, their workers with ceilings, and whether they are settled"
EXAMPLES = ("inturn queues", "inturn queues --json")
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Explain the columns."""
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(lines.LINE_COLUMNS)}."


def execute(_: Namespace, context: Context) -> Result:
    """Show every queue."""
    found = roster.lines(context)
    return Result(
        [wire_roster.line(it) for it in found],
        lambda: map(lines.line, found),
        lambda console: _draw(console, found),
    )


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import many, part

    return many(part("line"))


def _draw(console: Console, found: Sequence[Line]) -> None:
    from inturn.cli import render_roster

    render_roster.lines(console, found)

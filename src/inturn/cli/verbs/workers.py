"""`inturn workers`: the processes that own jobs, workers and supervisors alike."""

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

    from inturn.core.roster import Member
    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "show the processes that own jobs: workers, supervisors, and whether they live"
EXAMPLES = ("inturn workers", "inturn workers --json")
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Explain the columns."""
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(lines.MEMBER_COLUMNS)}."


def execute(_: Namespace, context: Context) -> Result:
    """Show every owner."""
    found = roster.members(context)
    return Result(
        [wire_roster.member(one) for one in found],
        lambda: map(lines.member, found),
        lambda console: _draw(console, found, context.now().wall),
    )


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import many, part

    return many(part("member"))


def _draw(console: Console, found: Sequence[Member], wall: int) -> None:
    from inturn.cli import render_roster

    render_roster.members(console, found, wall)

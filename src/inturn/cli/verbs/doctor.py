"""`inturn doctor`: examine the store and its surroundings, mend what can be mended, make a copy."""

from __future__ import annotations

from inturn.cli.ending import FAILED
from inturn.cli.result import Result
from inturn.cli.text import printable
from inturn.core.health import NOTE, PROBLEM, document
from inturn.errors import InturnError
from inturn.service import admin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from rich.console import Console

    from inturn.core.health import Finding
    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "examine the store: what is wrong, what may go wrong, and what to do about it"
EXAMPLES = ("inturn doctor", "inturn doctor --repair --yes", "inturn doctor --backup inturn-copy.db")
CREATES = False

_COLUMNS = ("severity", "check", "message", "fix")
_STYLES = {NOTE: "yellow", PROBLEM: "red"}


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "--repair", action="store_true", help="mend what is proven to be wrong, and recover; then examine"
    )
    parser.add_argument(
        "--yes", action="store_true", help="with --repair: end processes of runs that are over"
    )
    parser.add_argument("--backup", metavar="PATH", help="copy the database to a new file, and do no more")
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(_COLUMNS)}."


def execute(args: Namespace, context: Context) -> Result:
    """Examine. The exit code is 1 if there are problems. Raises InturnError `usage`, and as `back_up`."""
    if args.backup is not None:
        if args.repair or args.yes:
            raise InturnError("usage", "--backup excludes --repair", "Make the copy first.")
        path = admin.back_up(context, args.backup)
        return Result({"backup": path}, lambda: [printable(path)])
    if args.yes and not args.repair:
        raise InturnError("usage", "--yes goes with --repair", "Add it, or leave --yes out.")
    repaired = _repair(args, context) if args.repair else []
    found = admin.examine(context)
    problems = sum(one.severity == PROBLEM for one in found)
    data = {"problems": problems, "findings": [document(one) for one in found], "repaired": repaired}
    return Result(
        data,
        lambda: ("\t".join(printable(text) or "-" for text in one) for one in found),
        lambda console: _draw(console, found),
        FAILED if problems else 0,
    )


def schema() -> Schema:
    """Of the answer with --json: findings, or the copy that was made."""
    from inturn.core.schema import COUNT, TEXT, either, many, part, record

    found = record({"problems": COUNT, "findings": many(part("finding")), "repaired": many(TEXT)})
    return either(found, record({"backup": TEXT}))


def _repair(args: Namespace, context: Context) -> list[str]:
    from inturn.app import recover
    from inturn.service.repair import repair

    done = [f"recovered job {one.job_id}: {one.what}" for one in recover(context) if one.what != "unverified"]
    done += repair(context, args.yes)
    for told in done:
        context.notice(told)
    return done


def _draw(console: Console, found: Sequence[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in found:
        told = Text(printable(one.message))
        if one.fix:
            told.append(f"\n→ {printable(one.fix)}", style="dim")
        table.add_row(Text(one.severity, style=_STYLES.get(one.severity, "green")), told)
    console.print(table)

"""`inturn status`: how many jobs are where, and how full the pools are; or some jobs in a line each."""

from __future__ import annotations

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.core import wire
from inturn.service import query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from inturn.core.schema import Schema
    from inturn.core.views import Totals, View
    from inturn.service.context import Context


HELP = "show totals by state, queue and pool, or the state of some jobs"
EXAMPLES = ("inturn status", "inturn status 7 shard-1")
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="an id or a name: one line for each job")
    parser.epilog = (
        f"{parser.epilog}\n\nIn a pipe: a key and a value a line; for jobs the columns of inturn list."
    )


def execute(args: Namespace, context: Context) -> Result:
    """Show totals, or jobs. Raises InturnError `not_found` or `ambiguous`."""
    if not args.jobs:
        found = query.totals(context)
        return Result(wire.totals(found), lambda: _lines(found), lambda console: _draw_totals(console, found))
    views = query.look_at(context, args.jobs, bool(args.json))
    data = [wire.job(view) for view in views] if args.json else None
    return Result(
        data, lambda: map(lines.job, views), lambda console: _draw_jobs(console, views, context.now().wall)
    )


def schema() -> Schema:
    """Of the answer with --json: totals, or the jobs that were named."""
    from inturn.core.schema import either, many, part
    from inturn.core.wire_schema import totals

    return either(totals(), many(part("job")))


def _lines(found: Totals) -> Iterable[str]:
    document = wire.totals(found)
    for scope in (document, *document["pools"]):
        scope["slots"] = lines.limit(scope["slots"])
    for group in ("queues", "pools"):
        document[group] = {each.pop("name"): each for each in document[group]}
    return lines.document(document)


def _draw_totals(console: Console, found: Totals) -> None:
    from inturn.cli import render

    render.totals(console, found)


def _draw_jobs(console: Console, views: Sequence[View], wall: int) -> None:
    from inturn.cli import render

    render.jobs(console, views, wall)

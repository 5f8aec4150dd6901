"""`inturn list`: jobs, the newest first."""

from __future__ import annotations

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.core.duration import parse_integer, parse_limit
from inturn.core.options import read, switch
from inturn.core.views import UMBRELLAS, Filters, check_status
from inturn.errors import InturnError
from inturn.service import query
from inturn.service.select import LARGEST_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from typing import TypeVar

    from rich.console import Console

    from inturn.core.views import View
    from inturn.service.context import Context

    T = TypeVar("T")

HELP = "list jobs, the newest first"
EXAMPLES = (
    "inturn list",
    "inturn list --status active --status queued",
    "inturn list --all --tag project=x --json",
)
CREATES = False

DEFAULT_LIMIT = 50


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    several = "; repeatable: any of them"
    parser.add_argument(
        "--status",
        action="append",
        default=[],
        metavar="STATUS",
        help=f"only jobs in this state, or {', '.join(UMBRELLAS)}{several}",
    )
    for name, metavar in (("queue", "QUEUE"), ("pool", "POOL"), ("name", "NAME"), ("tag", "KEY[=VALUE]")):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar=metavar,
            help=f"only jobs with this {name}{several}",
        )
    parser.add_argument(
        "--array", action="append", default=[], metavar="ID", help=f"only jobs of this array{several}"
    )
    how_many = parser.add_mutually_exclusive_group()
    how_many.add_argument("--limit", metavar="N", help=f"at most so many (default: {DEFAULT_LIMIT})")
    how_many.add_argument("--all", action="store_true", help="every one")
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(lines.JOB_COLUMNS)}."


def execute(args: Namespace, context: Context) -> Result:
    """List the jobs that were asked for. Raises InturnError `invalid_value`."""
    filters = _filters(args, context)
    limit = None if args.all else _limit(args.limit)
    if args.json:
        from inturn.core import wire

        return Result(query.listing(context, filters, limit, True, wire.job))
    return Result(
        lines=lambda: query.listing(context, filters, limit, False, lines.job),
        rich=lambda console: _draw(console, context, filters, limit),
    )


def _filters(args: Namespace, context: Context) -> Filters:
    return Filters(
        statuses=tuple(_named("--status", check_status, word) for word in args.status),
        queues=tuple(args.queue),
        pools=tuple(args.pool),
        names=tuple(args.name),
        tags=tuple(read("tag", args.tag, context.now(), switch)),
        arrays=tuple(_named("--array", _array, word) for word in args.array),
    )


def _limit(text: str | None) -> int | None:
    return DEFAULT_LIMIT if text is None else _named("--limit", parse_limit, text)


def _array(text: str) -> int:
    return parse_integer(text, 1, LARGEST_ID)


def _named(option: str, parse: Callable[[str], T], text: str) -> T:
    """What `parse` makes of a value; what is wrong with it begins with the option's name."""
    try:
        return parse(text)
    except InturnError as problem:
        raise InturnError(problem.code, f"{option}: {problem.message}", problem.hint) from None


def _draw(console: Console, context: Context, filters: Filters, limit: int | None) -> None:
    from inturn.cli import render

    def itself(view: View) -> View:
        return view

    # One more than is shown tells whether there are more.
    wanted = None if limit is None else limit + 1
    found = query.listing(context, filters, wanted, False, itself)
    render.jobs(console, found[:limit], context.now().wall)
    if limit is not None and len(found) > limit:
        render.remark(console, f"the newest {limit}; --all shows every one")

"""`inturn events`: the ledger of all changes of phase."""

from __future__ import annotations

import sys

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.core import wire
from inturn.core.duration import parse_integer
from inturn.errors import InturnError
from inturn.service import query
from inturn.service.select import LARGEST_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from rich.console import Console

    from inturn.core.schema import Schema
    from inturn.core.views import LedgerEntry
    from inturn.service.context import Context


HELP = "show the ledger of all changes of phase"
EXAMPLES = ("inturn events --job 7", "inturn events --since 120 --follow --json")
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--since", metavar="ID", default="0", help="only what came after this event")
    parser.add_argument("--job", metavar="JOB", help="only of this job: an id, a name, or name@latest")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="go on with what comes, without end; with --json one a line",
    )
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(lines.EVENT_COLUMNS)}."


def execute(args: Namespace, context: Context) -> Result:
    """Show the ledger. Raises InturnError `invalid_value`, and `not_found` or `ambiguous` for the job."""
    since = _since(args.since)
    if args.follow:
        _follow(args, context, since)
    if args.json:
        return Result(query.events(context, since, args.job, wire.event))
    if args.job is not None:
        # Before anything is printed.
        query.look_at(context, [args.job], False)
    return Result(
        lines=lambda: query.events(context, since, args.job, lines.event),
        rich=lambda console: _draw(
            console, query.events(context, since, args.job, _itself), context.now().wall
        ),
    )


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import many, part

    return many(part("event"))


def _since(text: str) -> int:
    try:
        return parse_integer(text, 0, LARGEST_ID)
    except InturnError as problem:
        raise InturnError(problem.code, f"--since: {problem.message}", problem.hint) from None


def _itself(entry: LedgerEntry) -> LedgerEntry:
    return entry


def _draw(console: Console, entries: list[LedgerEntry], wall: int) -> None:
    from inturn.cli import render

    render.events(console, entries, wall)


def _follow(args: Namespace, context: Context, since: int) -> None:
    """Print the ledger as it grows, until the reader goes away or we are interrupted."""
    form = _json_line if args.json else lines.event
    pause = _pauser()
    if args.job is None:
        context = _once_it_exists(context, pause)
    for entry in query.follow(context, since, args.job, pause):
        if sys.stdout is not None:
            sys.stdout.write(form(entry) + "\n")
            sys.stdout.flush()


def _json_line(entry: LedgerEntry) -> str:
    import json

    return json.dumps(wire.event(entry))


def _once_it_exists(context: Context, pause: Callable[[int], None]) -> Context:
    """Wait for the first submission to create the store: who only looks creates none."""
    from inturn.app import open_context

    while context.store is None:
        pause(query.FOLLOW_EVERY)
        context = open_context(context.directory, context.config_path, False, context.notice)
    return context


def _pauser() -> Callable[[int], None]:
    """A sleep, in microseconds, that ends with BrokenPipeError when nobody reads our output any more.

    Without it a follower would outlive `| head` until the next event.
    """
    import select

    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError, ValueError):
        pass  # There is no output, or no file behind it: it only sleeps.

    def pause(us: int) -> None:
        if any(event & select.POLLERR for _, event in poll.poll(us / 1000)):
            raise BrokenPipeError

    return pause

"""`inturn pools`: the capacities and who uses them; and changing those of pools."""

from __future__ import annotations

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.core import wire
from inturn.core.duration import parse_limit
from inturn.errors import InturnError
from inturn.service import capacity, query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from rich.console import Console

    from inturn.core.schema import Schema
    from inturn.core.views import Scope
    from inturn.service.context import Context


HELP = "show capacities and who uses them, or change a pool"
EXAMPLES = (
    "inturn pools",
    "inturn pools set analysis 3",
    "inturn pools set analysis unlimited",
    "inturn pools remove analysis",
)
CREATES = False

_USAGE = "Write: inturn pools, inturn pools set NAME N|unlimited, or inturn pools remove NAME"


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.usage = "inturn pools\ninturn pools set NAME N|unlimited\ninturn pools remove NAME"
    parser.add_argument(
        "action",
        nargs="?",
        choices=("set", "remove"),
        metavar="set|remove",
        help="what to do to a pool that the configuration file does not declare; without it: show all",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the pool")
    parser.add_argument(
        "slots", nargs="?", metavar="N|unlimited", help="its slots: a positive integer, or unlimited"
    )
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(lines.SCOPE_COLUMNS)}."


def execute(args: Namespace, context: Context) -> Result:
    """Show the capacities, after a change if one was asked for.

    Raises InturnError `usage`, `invalid_value`, `unknown_pool` or `conflict`.
    """
    if args.action == "set":
        if args.name is None or args.slots is None:
            raise InturnError("usage", "pools set needs a name and a number of slots", _USAGE)
        slots = parse_limit(args.slots)
        context = with_store(context)
        capacity.set_pool(context, args.name, slots)
    elif args.action == "remove":
        if args.name is None or args.slots is not None:
            raise InturnError("usage", "pools remove needs a name and nothing else", _USAGE)
        context = with_store(context)
        capacity.remove_pool(context, args.name)
    return _shown(context)


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.wire_schema import scopes

    return scopes()


def with_store(context: Context) -> Context:
    """The context with a store, created if there is none: capacities may be set before the first job."""
    if context.store is not None:
        return context
    from inturn.app import open_context

    return open_context(context.directory, context.config_path, True, context.notice)


def _shown(context: Context) -> Result:
    found = query.capacities(context)
    return Result(
        wire.scopes(found),
        lambda: map(lines.scope, found),
        lambda console: _draw(console, found, context.now().wall),
    )


def _draw(console: Console, found: Sequence[Scope], wall: int) -> None:
    from inturn.cli import render

    render.scopes(console, found, wall)

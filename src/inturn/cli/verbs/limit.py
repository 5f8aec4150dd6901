"""`inturn limit`: how many slots may be in use in the whole store."""

from __future__ import annotations

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.cli.verbs.pools import with_store
from inturn.core import wire
from inturn.core.duration import parse_limit
from inturn.service import capacity, query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "show or change how many slots may be in use in the whole store"
EXAMPLES = ("inturn limit", "inturn limit 4", "inturn limit unlimited")
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "slots", nargs="?", metavar="N", help="a positive integer, or unlimited; without it: show it"
    )


def execute(args: Namespace, context: Context) -> Result:
    """Show the limit, changed if that was asked for. Raises InturnError `invalid_value` or `conflict`."""
    if args.slots is not None:
        slots = parse_limit(args.slots)
        context = with_store(context)
        capacity.set_limit(context, slots)
    store, *_ = query.capacities(context)
    return Result(wire.scope(store), lambda: [lines.limit(store.slots)])


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import part

    return part("scope")

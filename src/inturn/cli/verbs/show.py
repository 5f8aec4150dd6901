"""`inturn show`: everything about a job."""

from __future__ import annotations

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.core import wire
from inturn.service import query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rich.console import Console

    from inturn.core.schema import Schema
    from inturn.core.views import Dossier
    from inturn.service.context import Context


HELP = "show everything about a job"
EXAMPLES = ("inturn show 7", "inturn show shard-1 --env-values", "inturn show 7 --json")
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("job", metavar="JOB", help="an id, a name, or name@latest")
    parser.add_argument(
        "--env-values", action="store_true", help="the values of environment variables, not only their names"
    )
    parser.epilog = f"{parser.epilog}\n\nIn a pipe: a key and a value a line, as in the JSON."


def execute(args: Namespace, context: Context) -> Result:
    """Show the job. Raises InturnError `not_found` or `ambiguous`."""
    found = query.describe(context, args.job)
    data = wire.dossier(found, args.env_values)
    return Result(
        data,
        lambda: lines.document(data),
        lambda console: _draw(console, found, args.env_values, context.now().wall),
    )


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import part

    return part("dossier")


def _draw(console: Console, found: Dossier, values: bool, wall: int) -> None:
    from inturn.cli import render_job

    render_job.dossier(console, found, values, wall)

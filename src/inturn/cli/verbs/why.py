"""`inturn why`: in words, why a job is where it is, and what would change that."""

from __future__ import annotations

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.core import wire
from inturn.service import query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from rich.console import Console

    from inturn.core.job import Job
    from inturn.core.reasons import Reason
    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "say why a job is not running, or how it ended, and what would change that"
EXAMPLES = ("inturn why shard-4", "inturn why 7 --json")
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("job", metavar="JOB", help="an id, a name, or name@latest")
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(lines.REASON_COLUMNS)}."


def execute(args: Namespace, context: Context) -> Result:
    """Explain the job. Raises InturnError `not_found` or `ambiguous`."""
    job, found = query.why(context, args.job)
    data = {
        "id": job.id,
        "name": job.name,
        "status": job.status,
        "reasons": [wire.reason(reason) for reason in found],
    }
    return Result(data, lambda: lines.reasons(found), lambda console: _draw(console, job, found))


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import ID, TEXT, many, maybe, part, record
    from inturn.core.wire_schema import STATUS

    return record({"id": ID, "name": maybe(TEXT), "status": STATUS, "reasons": many(part("reason"))})


def _draw(console: Console, job: Job, found: Sequence[Reason]) -> None:
    from inturn.cli import render

    render.reasons(console, job, found)

"""`inturn wait`: block until jobs are completed."""

from __future__ import annotations

from inturn.cli import selection
from inturn.cli.ending import EXIT_CODES
from inturn.cli.result import Result
from inturn.cli.values import value_of
from inturn.cli.waiting import await_jobs, tell
from inturn.core.duration import parse_duration
from inturn.errors import InturnError
from inturn.service import query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "wait until jobs are completed; exit with 0 if all succeeded, else with 6"
EXAMPLES = (
    "inturn wait 7 shard-1",
    "inturn wait prepare --timeout 10m --exit-status",
    "inturn wait --tag project=x",
)
CREATES = False
TIDIES = "all"

# What completion offers.
JOBS = ("live",)


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    selection.configure(parser)
    parser.add_argument("--timeout", metavar="DURATION", help="give up after so long, and exit with 6")
    parser.add_argument(
        "--exit-status",
        action="store_true",
        help="with one job: exit with the status of its command (128+n for a signal, 124 timed out,"
        " 126 or 127 could not be started, 6 never ran or lost)",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress and tell nothing")


def execute(args: Namespace, context: Context) -> Result:
    """Wait for the jobs. Raises InturnError `incomplete` after the timeout, or what `selection` raises."""
    timeout = None if args.timeout is None else value_of("--timeout", parse_duration, args.timeout)
    ids = selection.pick(args, context)
    if args.exit_status and len(ids) != 1:
        raise InturnError(
            "usage", f"--exit-status is of one job, and these are {len(ids)}", "Wait for them one by one."
        )
    try:
        jobs = await_jobs(context, ids, timeout, args.quiet)
    except InturnError as problem:
        if problem.code != "incomplete" or not args.quiet or args.json:
            raise
        return Result(code=EXIT_CODES["incomplete"])
    failed = [job for job in jobs if job.outcome != "success"]
    if not args.quiet:
        tell(context, failed)
    data = None
    if args.json:
        from inturn.core import wire

        data = [wire.job(view) for view in query.look_at(context, map(str, ids), True)]
    if args.exit_status:
        from inturn.service.outcome import status_of

        return Result(data, code=status_of(context, jobs[0]))
    return Result(data, code=EXIT_CODES["incomplete"] if failed else 0)


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import many, part

    return many(part("job"))

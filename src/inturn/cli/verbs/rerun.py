"""`inturn rerun`: new jobs like old ones."""

from __future__ import annotations

from inturn.cli import selection
from inturn.cli.result import Result
from inturn.cli.submission import unsaid
from inturn.service import rerun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "submit jobs once more, as new jobs, and print their ids"
EXAMPLES = ("inturn rerun 7", "inturn rerun nightly@latest", "inturn rerun --array 12 --yes")
CREATES = False
TIDIES = "all"

# What a filter without --status picks, and what completion offers.
JOBS = ("ended",)


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    selection.configure(parser)
    parser.add_argument(
        "--with-gates",
        action="store_true",
        help="let them wait for the same jobs and conditions; without it they wait for nothing",
    )
    selection.configure_consent(parser)
    parser.epilog = f"{parser.epilog}\n\nIn a pipe: the new ids, one a line, in the order of the old ones."


def execute(args: Namespace, context: Context) -> Result:
    """Submit the jobs again. Raises InturnError as a submission does, or what `selection` raises."""
    from inturn.service import configure
    from inturn.service.defaults import submission_rules

    ids = selection.pick_with_consent(args, context, JOBS, "submitted again")
    configure.defaults(context, submission_rules(context))  # applies a file that has changed
    fresh = rerun.rerun(context, ids, args.with_gates)
    return Result(
        data=[{"id": new, "rerun_of": old} for new, old in zip(fresh, ids, strict=True)],
        lines=lambda: map(str, fresh),
        unsaid=unsaid(fresh),
    )


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import ID, many, record

    return many(record({"id": ID, "rerun_of": ID}))

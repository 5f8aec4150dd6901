"""`inturn retry`: another round for jobs that have ended."""

from __future__ import annotations

from inturn.cli import acting, selection
from inturn.service import retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inturn.cli.result import Result
    from inturn.core.schema import Schema
    from inturn.service.acting import Acted
    from inturn.service.context import Context


HELP = "give jobs that have ended another round, under the same id and with a fresh budget"
EXAMPLES = (
    "inturn retry 7",
    "inturn retry prepare --with-dependents",
    "inturn retry --tag project=x --yes",
)
CREATES = False
TIDIES = "all"

# What completion offers.
JOBS = ("ended",)


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    selection.configure(parser)
    parser.add_argument(
        "--with-dependents",
        action="store_true",
        help="revive those too that were aborted because of it, and on down the graph",
    )
    selection.configure_consent(parser)
    parser.epilog = (
        f"{parser.epilog}\n\nA filter without --status picks what did not succeed."
        "\n\nThe columns in a pipe: id, and retried or unchanged."
    )


def execute(args: Namespace, context: Context) -> Result:
    """Retry. Raises InturnError if no job can have another round, or what `selection` raises.

    `conflict` if they have not ended, `unknown_pool` or `impossible` if they would not fit any more.
    """
    ids = selection.pick_with_consent(args, context, "unsuccessful", "retried")
    acted = retry.retry(context, ids, args.with_dependents)
    return acting.answer(context, acted, "retried", "Only what has ended can have another round.", _told)


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import many

    return many(acting.schema("retried"))


def _told(one: Acted) -> str:
    return f"retried; it is {one.job.status}"

"""`inturn resume`: let go on what was paused."""

from __future__ import annotations

from inturn.cli import acting, lanes, selection
from inturn.cli.verbs.pools import with_store
from inturn.service import pausing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inturn.cli.result import Result
    from inturn.core.schema import Schema
    from inturn.service.acting import Acted
    from inturn.service.context import Context


HELP = "let jobs, or whole queues and pools, that were paused go on"
EXAMPLES = (
    "inturn resume 7",
    "inturn resume --status paused --yes",
    "inturn resume --queue gpu",
    "inturn resume --pool analysis --with-running",
)
CREATES = False
TIDIES = "all"

# What a filter without --status picks, and what completion offers.
JOBS = ("paused",)


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    selection.configure(parser)
    lanes.configure(parser, "resume the jobs of it that were paused while they ran, too")
    selection.configure_consent(parser)
    parser.epilog = (
        f"{parser.epilog}\n\n--queue or --pool with nothing else resumes the queue or pool itself. With"
        "\n--status or --tag beside it, it picks jobs."
        "\n\nThe columns in a pipe: id (or queue:NAME, pool:NAME), and resumed or unchanged."
    )


def execute(args: Namespace, context: Context) -> Result:
    """Resume. Raises InturnError `conflict` if nothing was paused, or what `selection` raises."""
    whole = lanes.meant(args, context)
    if whole:
        found = pausing.release(with_store(context), whole, args.with_running)
        return lanes.answer(context, *found, "resumed")
    acted = pausing.resume(context, selection.pick_with_consent(args, context, JOBS, "resumed"))
    return acting.answer(context, acted, "resumed", "See what is paused: inturn list --status paused", _told)


def schema() -> Schema:
    """Of the answer with --json."""
    return lanes.schema("resumed")


def _told(one: Acted) -> str:
    return f"resumed; it is {one.job.status}"

"""`inturn pause`: hold jobs, or whole queues and pools, until they are resumed."""

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


HELP = "hold jobs until they are resumed, processes included; or start nothing more of a queue or pool"
EXAMPLES = (
    "inturn pause 7",
    "inturn pause --tag project=x --yes",
    "inturn pause --queue gpu",
    "inturn pause --pool analysis --with-running",
)
CREATES = False
TIDIES = "all"

# What a filter without --status picks, and what completion offers: whatever is not paused yet and can be.
JOBS = ("submitting", "waiting", "scheduled", "backoff", "queued", "starting", "running")


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    selection.configure(parser)
    lanes.configure(parser, "pause the jobs of it that run, too")
    selection.configure_consent(parser)
    parser.epilog = (
        f"{parser.epilog}\n\n--queue or --pool with nothing else pauses the queue or pool itself: nothing new"
        "\nis started from it, and what runs goes on. With --status or --tag beside it, it picks jobs."
        "\n\nThe columns in a pipe: id (or queue:NAME, pool:NAME), and paused or unchanged."
    )


def execute(args: Namespace, context: Context) -> Result:
    """Pause. Raises InturnError `conflict` if nothing could be paused, or what `selection` raises."""
    whole = lanes.meant(args, context)
    if whole:
        return lanes.answer(context, *pausing.hold(with_store(context), whole, args.with_running), "paused")
    acted = pausing.pause(context, selection.pick_with_consent(args, context, JOBS, "paused"))
    return acting.answer(context, acted, "paused", "What waits, stands in line or runs can be paused.", _told)


def schema() -> Schema:
    """Of the answer with --json."""
    return lanes.schema("paused")


def _told(one: Acted) -> str:
    if one.job.held_phase in ("waiting", "queued"):
        return f"paused; it was {one.job.held_phase}"
    return "paused; its processes are being stopped, and it keeps its slots"

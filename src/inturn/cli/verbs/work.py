"""`inturn work`: be a worker."""

from __future__ import annotations

import sys

from inturn.cli.result import Result
from inturn.core.duration import MAX_LIMIT, parse_integer
from inturn.core.options import read, switch
from inturn.core.request import DEFAULT_QUEUE
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from inturn.service.context import Context

HELP = "claim jobs from queues and run them, the highest priority first"
EXAMPLES = (
    "inturn work",
    "inturn work --queue gpu --slots 2",
    "inturn work --queue cpu -j 8 --drain",
    "inturn work --once",
)
CREATES = True
TIDIES = "all"

# More processes at a time than this would be a mistake.
MOST_PLACES = 10_000


def configure(parser: ArgumentParser) -> None:
    """The options of `inturn work`."""
    parser.add_argument(
        "--queue", action="append", metavar="NAME", help="serve this queue; repeatable (default: default)"
    )
    parser.add_argument(
        "--slots", metavar="N", help="claim nothing while N jobs of the queue are active, whoever runs them"
    )
    parser.add_argument(
        "-j", dest="places", metavar="N", default="1", help="run N jobs at a time (default 1)"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--drain", action="store_true", help="end when the queues are settled")
    how.add_argument("--once", action="store_true", help="end after at most one job")


def execute(args: Namespace, context: Context) -> Result:
    """Work until the orders are fulfilled, or a stop is asked for."""
    from inturn.app import run_worker
    from inturn.owners.worker import Orders

    ceiling = None if args.slots is None else _number("--slots", args.slots, MAX_LIMIT)
    now = context.now()
    queues = {read("queue", name, now, switch): ceiling for name in args.queue or [DEFAULT_QUEUE]}
    places = _number("-j", args.places, MOST_PLACES)
    if sys.stderr is not None and sys.stderr.isatty():
        context.notice(_greeting(list(queues), places))
    run_worker(context, Orders(queues, places, args.drain, args.once))
    return Result()


def _greeting(queues: Sequence[str], places: int) -> str:
    """What tells a person that nothing is wrong when nothing more is printed."""
    served = f"queue {queues[0]}" if len(queues) == 1 else f"queues {', '.join(queues)}"
    jobs = "one job" if places == 1 else f"{places} jobs"
    return (
        f"serving {served}, {jobs} at a time; Ctrl-C ends it when what runs has ended, twice puts that back"
    )


def _number(option: str, text: str, most: int) -> int:
    try:
        return parse_integer(text, 1, most)
    except InturnError as problem:
        raise InturnError(problem.code, f"{option}: {problem.message}", problem.hint) from None

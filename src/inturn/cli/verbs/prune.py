"""`inturn prune`: remove jobs that have ended, with their logs."""

from __future__ import annotations

import sys

from inturn.cli.result import Result
from inturn.cli.values import LARGEST_INTEGER, value_of
from inturn.core.duration import parse_duration, parse_integer
from inturn.core.job import OUTCOMES
from inturn.core.views import UMBRELLAS, check_status
from inturn.errors import InturnError
from inturn.service import prune
from inturn.store.prune import Picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from inturn.core.schema import Schema
    from inturn.service.context import Context
    from inturn.service.prune import Pruned


HELP = "remove jobs that have ended, with their runs, events and logs"
EXAMPLES = (
    "inturn prune --older-than 30d",
    "inturn prune --keep 1000 --force",
    "inturn prune --status success --older-than 1w --force",
)
CREATES = False
TIDIES = "all"


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--older-than", metavar="DURATION", help="only what ended longer ago than this")
    parser.add_argument("--keep", metavar="N", help="keep the newest N of them")
    parser.add_argument(
        "--status",
        action="append",
        default=[],
        metavar="STATUS",
        help=f"only jobs that ended like this: {', '.join(OUTCOMES)}; repeatable",
    )
    parser.add_argument("--force", action="store_true", help="do it; without this it is only shown")
    parser.epilog = (
        f"{parser.epilog}\n\nIn a pipe: the ids. What is live is never removed, nor what another job still"
        " depends on;\nan array is removed as a whole or not at all."
    )


def execute(args: Namespace, context: Context) -> Result:
    """Remove what was asked for, or show what would be. Raises InturnError `invalid_value`."""
    picked = Picked(
        None
        if args.older_than is None
        else context.now().wall - value_of("--older-than", parse_duration, args.older_than),
        None if args.keep is None else value_of("--keep", _count, args.keep),
        tuple(outcome for word in args.status for outcome in value_of("--status", _outcomes, word)),
    )
    done = (prune.prune if args.force else prune.preview)(context, picked)
    for told in _what_stays(done):
        context.notice(told)
    if done.ids and not args.force and not args.json and not _at_terminal():
        # The ids alone look like those of jobs that are gone; at a terminal a sentence says it.
        context.notice("nothing was removed; add --force")
    data = {
        "removed": bool(args.force),
        "jobs": list(done.ids),
        "kept": {"depended_on": done.needed, "arrays": done.arrays, "alive": done.alive},
    }
    return Result(
        data,
        lambda: map(str, done.ids),
        lambda console: console.print(_sentence(done, args.force), markup=False),
    )


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import COUNT, FLAG, ID, many, record, told

    kept = record({"depended_on": COUNT, "arrays": COUNT, "alive": COUNT})
    return record({"removed": told("false: only shown", FLAG), "jobs": many(ID), "kept": kept})


def _at_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _count(text: str) -> int:
    return parse_integer(text, 0, LARGEST_INTEGER)


def _outcomes(word: str) -> tuple[str, ...]:
    found = UMBRELLAS.get(check_status(word), (word,))
    if not set(found) <= set(OUTCOMES):
        raise InturnError(
            "invalid_value", f"jobs that are {word} have not ended", f"Write one of {', '.join(OUTCOMES)}."
        )
    return found


def _sentence(done: Pruned, forced: bool) -> str:
    jobs = "1 job" if len(done.ids) == 1 else f"{len(done.ids)} jobs"
    if forced or not done.ids:
        return f"{jobs} removed" if forced else "nothing would be removed"
    return f"{jobs} would be removed, {_ranges(done.ids)}; add --force to do it"


def _ranges(ids: tuple[int, ...]) -> str:
    """The oldest and the newest of them."""
    return f"job {ids[0]}" if len(ids) == 1 else f"from job {ids[-1]} to job {ids[0]}"


def _what_stays(done: Pruned) -> Iterator[str]:
    for count, why in (
        (done.needed, "other jobs depend on them"),
        (done.arrays, "other jobs of their arrays stay"),
        (done.alive, "processes that they left running (--leave-children) still write to their logs"),
    ):
        if count:
            yield f"{count} more would fit and {'stays' if count == 1 else 'stay'}: {why}"

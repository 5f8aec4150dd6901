"""Pausing and resuming whole queues and pools from the command line."""

from __future__ import annotations

from inturn.cli import acting
from inturn.cli.ending import EXIT_CODES
from inturn.cli.result import Result
from inturn.core.duration import quoted
from inturn.core.held import Lane
from inturn.core.options import read, switch
from inturn.core.phrases import label
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from inturn.core.schema import Schema
    from inturn.service.acting import Acted
    from inturn.service.context import Context
    from inturn.service.pausing import LaneActed


def configure(parser: ArgumentParser, what: str) -> None:
    """Add --pool and --with-running; `what` becomes of the jobs that run."""
    parser.add_argument(
        "--pool", action="append", default=[], metavar="POOL", help="as --queue, with a pool; repeatable"
    )
    parser.add_argument(
        "--with-running",
        action="store_true",
        help=f"with a whole queue or pool: {what}",
    )


def meant(args: Namespace, context: Context) -> list[Lane]:
    """The queues or pools that are meant as a whole: nothing but them was named. Else none.

    Raises InturnError `usage` if both queues and pools are, and `invalid_value` for what cannot be one.
    """
    if args.jobs or args.status or args.tag or args.array or not (args.queue or args.pool):
        if args.with_running:
            raise InturnError(
                "usage", "--with-running goes with a whole queue or pool", "Name one and nothing else."
            )
        return []
    if args.queue and args.pool:
        raise InturnError(
            "usage",
            "--queue and --pool: whole queues and whole pools are named one kind at a time",
            "For the jobs that are in both, add --status live.",
        )
    now = context.now()
    queues = [Lane("queue", read("queue", name, now, switch)) for name in args.queue]
    pools = [Lane("pool", read("pool", name, now, switch)) for name in args.pool]
    return list(dict.fromkeys(queues + pools))


def answer(context: Context, lanes: Sequence[LaneActed], acted: Sequence[Acted], participle: str) -> Result:
    """What became of each queue or pool, and of the jobs of theirs.

    Raises InturnError `conflict` if nothing was done.
    """
    refused = [one for one in lanes if one.refusal]
    problem = "; ".join(f"{_name(one.lane)}: {one.refusal}" for one in refused)
    if refused and len(refused) == len(lanes):
        raise InturnError("conflict", f"not {participle}: {problem}", "See inturn queues and inturn pools.")
    left = [one for one in acted if one.refusal]
    for told in (problem, *(f"job {one.job.id}: {one.refusal}" for one in left)):
        if told:
            context.notice(f"not {participle}: {told}")
    sentences = [f"{_name(one.lane)}: {one.refusal or participle}" for one in lanes]
    sentences += [f"{label(one.job.id, one.job.name)}: {one.refusal or participle}" for one in acted]
    return Result(
        data=[
            *(_document(one, participle) for one in lanes),
            *(acting.document(one, participle) for one in acted),
        ],
        lines=lambda: [
            *(f"{one.lane.kind}:{one.lane.name}\t{_verdict(one, participle)}" for one in lanes),
            *(f"{one.job.id}\t{acting.verdict(one, participle)}" for one in acted),
        ],
        rich=lambda console: console.print("\n".join(sentences), markup=False),
        code=EXIT_CODES["incomplete"] if refused or left else 0,
    )


def schema(participle: str) -> Schema:
    """Of the answer with --json: whole queues or pools, and jobs."""
    from inturn.core.schema import TEXT, either, many, maybe, one_of, record

    done: dict[str, Schema] = {"result": one_of((participle, acting.UNCHANGED)), "problem": maybe(TEXT)}
    lanes = (record({kind: TEXT, **done}) for kind in ("queue", "pool"))
    return many(either(acting.schema(participle), *lanes))


def _name(lane: Lane) -> str:
    return f"{lane.kind} {quoted(lane.name)}"


def _verdict(one: LaneActed, participle: str) -> str:
    return acting.UNCHANGED if one.refusal else participle


def _document(one: LaneActed, participle: str) -> dict[str, object]:
    return {
        one.lane.kind: one.lane.name,
        "result": _verdict(one, participle),
        "problem": one.refusal or None,
    }

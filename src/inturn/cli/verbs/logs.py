"""`inturn logs`: what a job has written."""

from __future__ import annotations

import os
import sys

from inturn.cli.result import Result
from inturn.cli.values import LARGEST_INTEGER, value_of
from inturn.core.duration import parse_integer
from inturn.errors import InturnError
from inturn.service import output
from inturn.service.select import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "show the output of a job, byte for byte, both streams in the order seen"
EXAMPLES = (
    "inturn logs 7",
    "inturn logs prepare -f -n 20",
    "inturn logs 7 --run all --stream stderr --timestamps",
)
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("job", metavar="JOB", help="an id, a name, or name@latest")
    parser.add_argument("--run", metavar="N|all", help="of this run, or of all (default: the last one)")
    parser.add_argument("--stream", choices=output.STREAMS, help="only this stream")
    parser.add_argument("-n", "--lines", metavar="LINES", help="only the last lines of what there is")
    parser.add_argument(
        "--timestamps", action="store_true", help="each line behind the time at which it was seen (UTC)"
    )
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="go on as it grows, across retries, until the job has ended",
    )


def execute(args: Namespace, context: Context) -> Result:
    """Write the output, or hand it out as a document. Raises InturnError `not_found` or `ambiguous`."""
    wanted = _wanted(args)
    if args.json and args.follow:
        raise InturnError("usage", "--json and --follow exclude each other", "Leave one of them out.")
    job_id = resolve(context, args.job)
    if args.json:
        return Result(output.document(context, job_id, wanted))
    out = _standard_output()
    if args.follow:
        from inturn.app import tend
        from inturn.service.follow import follow

        follow(context, job_id, wanted, out, lambda jobs: tend(context, jobs))
    else:
        output.show(context, job_id, wanted, out)
    return Result()


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import BASE64, FLAG, ID, TEXT, TIME, many, maybe, one_of, record, told

    segment = record(
        {"run": ID, "at": TIME, "stream": one_of(output.STREAMS), "text": TEXT}, {"text_base64": BASE64}
    )
    run = told("null: of all runs, or there is none", maybe(ID))
    return record({"job": ID, "run": run, "log_incomplete": FLAG, "segments": many(segment)})


def _wanted(args: Namespace) -> output.Wanted:
    every = args.run == "all"
    return output.Wanted(
        run=None if every or args.run is None else value_of("--run", _run, args.run),
        every=every,
        stream=args.stream,
        lines=None if args.lines is None else value_of("-n", _lines, args.lines),
        timestamps=args.timestamps,
    )


def _run(text: str) -> int:
    return parse_integer(text, 1, LARGEST_INTEGER)


def _lines(text: str) -> int:
    return parse_integer(text, 0, LARGEST_INTEGER)


def _standard_output() -> int:
    """The descriptor to write to: past Python's buffers, which are for text."""
    if sys.stdout is None:  # closed from the start: its number may be that of another file by now
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    sys.stdout.flush()
    return sys.stdout.fileno()

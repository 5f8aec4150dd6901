"""`inturn add`: put a job in a queue, for workers."""

from __future__ import annotations

import sys

from inturn.cli import submission
from inturn.cli.options import Words, explain
from inturn.cli.result import Result
from inturn.service import enqueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from inturn.core.schema import Schema
    from inturn.core.spec import Submission
    from inturn.service.context import Context


HELP = "put a command as a job in a queue, for workers to run, and print the job's id"
EXAMPLES = (
    "inturn add -- make -j4",
    "inturn add --queue gpu --priority 10 -- python train.py --model large",
    "inturn add --after 5m --retries 3 --retry-delay 10s --retry-backoff exponential -- ./fetch",
    "inturn add --array 1-1000 -- ./render --frame {}",
    "inturn add --from-file jobs.jsonl",
)
CREATES = True
TIDIES = "late"
COMMAND = "word"


def parse(words: Sequence[str], given: dict[str, object]) -> Words:
    """The options and the command in `words`; `given` are the options before the verb. Raises `usage`."""
    return submission.parse("add", words, given, submission.OWN)


def configure(parser: ArgumentParser) -> None:
    """What `inturn add --help` explains; see `parse` for how the words are taken apart."""
    parser.usage = "inturn add [OPTIONS] [--] COMMAND [ARG…]\n       inturn add [OPTIONS] -c STRING"
    explain(parser, "add", submission.OWN)


def execute(words: Words, context: Context) -> Result:
    """Store the job or jobs; with --wait pass on how it ended."""
    if words.values.get("dry_run"):
        return submission.dry_run(words, context, supervised=False)
    return submission.submit(words, context, _add, supervised=False)


def schema() -> Schema:
    """Of the answer with --json."""
    return submission.schema()


def _add(context: Context, submissions: Sequence[Submission]) -> list[int]:
    ids = enqueue.add(context, submissions)
    if sys.stderr is not None and sys.stderr.isatty():
        for queue in enqueue.unserved(context, submissions):
            context.notice(f"no worker serves queue {queue}; start one: inturn work --queue {queue}")
    return ids

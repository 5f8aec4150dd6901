"""`inturn run`: submit a supervised job."""

from __future__ import annotations

from inturn.cli import submission
from inturn.cli.options import Words, explain
from inturn.cli.result import Result
from inturn.core.options import Option
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "submit a command as a job with a supervisor of its own, and print the job's id"
EXAMPLES = (
    "inturn run -- make -j4",
    "inturn run --name prepare -c 'seq 1000 > data.txt'",
    "inturn run --after-success prepare --pool analysis --retries 2 --retry-delay 1s -- ./analyse data.txt",
    "inturn run --array 1-100%8 -- ./simulate --seed {}",
    "inturn run --wait --run-timeout 1h -- ./nightly",
)
CREATES = True
TIDIES = "late"
COMMAND = "word"

_OWN = {
    **submission.OWN,
    "foreground": Option(
        "flag", "then", "", "run it here: with this terminal's input, its output shown; Ctrl-C cancels it"
    ),
}


def parse(words: Sequence[str], given: dict[str, object]) -> Words:
    """The options and the command in `words`; `given` are the options before the verb. Raises `usage`."""
    found = submission.parse("run", words, given, _OWN)
    if "foreground" in found.values:
        for name in ("array", "from_file", "wait"):
            if name in found.values:
                raise InturnError(
                    "usage", f"--foreground excludes --{name.replace('_', '-')}", "Leave one out."
                )
    return found


def configure(parser: ArgumentParser) -> None:
    """What `inturn run --help` explains; see `parse` for how the words are taken apart."""
    parser.usage = "inturn run [OPTIONS] [--] COMMAND [ARG…]\n       inturn run [OPTIONS] -c STRING"
    explain(parser, "run", _OWN)


def has_one_supervisor(words: Words) -> bool:
    """Whether one process is going to be started, so that this can be done at once."""
    return not any(name in words.values for name in ("array", "from_file", "foreground", "dry_run"))


def execute(words: Words, context: Context) -> Result:
    """Submit the job or jobs; with --wait or --foreground pass on how it ended."""
    if words.values.get("dry_run"):
        return submission.dry_run(words, context, supervised=True)
    if words.values.get("foreground"):
        return _foreground(words, context)
    from inturn.service import submit

    return submission.submit(words, context, submit.run, supervised=True)


def schema() -> Schema:
    """Of the answer with --json."""
    return submission.schema()


def _foreground(words: Words, context: Context) -> Result:
    from inturn.app import run_foreground
    from inturn.service import configure
    from inturn.service.defaults import submission_rules
    from inturn.service.outcome import status_of
    from inturn.store import jobs

    defaults = configure.defaults(context, submission_rules(context))
    (one,) = submission.understand(words, context, defaults, supervised=True).submissions
    job_id, refusal = run_foreground(context, one)
    assert context.store is not None
    job = jobs.load(context.store, job_id)
    assert job is not None
    status = status_of(context, job)
    if refusal is not None:
        failed = _fail_to_show(job_id, refusal)
        status = status or failed
    return Result(code=status)


def _fail_to_show(job_id: int, refusal: OSError) -> int:
    from inturn.cli import ending

    what = f"not all output of job {job_id} could be shown: {refusal.strerror}"
    return ending.fail(InturnError("failed", what, f"It is in its log: inturn logs {job_id}"), as_json=False)

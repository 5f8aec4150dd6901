"""`inturn run`: submit a supervised job."""

from __future__ import annotations

import os

from inturn.cli import output
from inturn.cli.echo import echo_times
from inturn.cli.options import GLOBAL, Words, explain, split
from inturn.cli.result import Result
from inturn.cli.surroundings import capture, read_env_files
from inturn.core.options import OPTIONS, Option, switch
from inturn.core.request import apply_defaults, build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping, Sequence

    from inturn.core.moment import Now
    from inturn.core.spec import Submission
    from inturn.service.context import Context

HELP = "submit a command as a job with a supervisor of its own, and print the job's id"
EXAMPLES = (
    "inturn run -- make -j4",
    "inturn run --name prepare -c 'seq 1000 > data.txt'",
    "inturn run --after-success prepare --pool analysis --retries 2 --retry-delay 1s -- ./analyse data.txt",
    "inturn run --wait --run-timeout 1h -- ./nightly",
)
CREATES = True

# What is asked of the submission itself and is no part of the job.
_OWN = {
    "wait": Option(
        "flag", "then", "", "wait for its end; exit with 0 on success, else with the command's status"
    ),
    "dry_run": Option(
        "flag", "then", "", "submit nothing; show what would be, and why it would start now or not"
    ),
}
_TABLE = {**OPTIONS, **_OWN, **GLOBAL}


def parse(words: Sequence[str], given: dict[str, object]) -> Words:
    """The options and the command in `words`; `given` are the options before the verb. Raises `usage`."""
    own = split(words, _TABLE, "inturn run --help")
    return Words({**given, **own.values}, own.command)


def configure(parser: ArgumentParser) -> None:
    """What `inturn run --help` explains; see `parse` for how the words are taken apart."""
    parser.usage = "inturn run [OPTIONS] [--] COMMAND [ARG…]\n       inturn run [OPTIONS] -c STRING"
    explain(parser, "run", _OWN)


def execute(words: Words, context: Context) -> Result:
    """Submit the job, and with --wait pass on how it ended."""
    if words.values.get("dry_run"):
        return _dry_run(words, context)
    from inturn.service import configure, submit
    from inturn.service.defaults import submission_rules

    values, now = _values(words, configure.defaults(context, submission_rules(context))), context.now()
    (job_id,) = submit.run(context, [_build(words, values, now)])
    echo_times(values, now, context.notice)
    answer = Result(data={"id": job_id}, lines=lambda: [str(job_id)])
    if not words.values.get("wait"):
        return answer
    output.emit(answer, bool(words.values.get("json")))
    return Result(code=_await(context, job_id))


def _dry_run(words: Words, context: Context) -> Result:
    from inturn.cli.dry_run import show
    from inturn.service.preview import preview, read_configuration

    if context.store is None:
        return _dry_run_without_store(words, context)
    read = read_configuration(context)
    values, now = _values(words, dict(read.defaults) if read else {}), context.now()
    submission = _build(words, values, now)
    echo_times(values, now, context.notice)
    return show(preview(context, submission, read))


def _dry_run_without_store(words: Words, context: Context) -> Result:
    """A submission would create the store; here one is made for the moment, somewhere else."""
    from tempfile import TemporaryDirectory

    from inturn.app import open_context

    config = None if context.config_origin == "default" else context.config_path
    with TemporaryDirectory(prefix="inturn-") as directory:
        elsewhere = open_context(directory, config, True, context.notice)
        return _dry_run(words, elsewhere)


def _values(words: Words, defaults: Mapping[str, object]) -> dict[str, object]:
    """The options of the submission: those in `words`, the defaults where they leave a gap, and env files."""
    given = {name: _as_utf8(value) for name, value in words.values.items() if name in OPTIONS}
    return read_env_files(apply_defaults(given, defaults, supervised=True))


def _as_utf8(value: object) -> object:
    """The core decodes and encodes as UTF-8, whatever the locale with which Python has decoded our words."""
    if isinstance(value, list):
        return [_as_utf8(one) for one in value]
    return os.fsencode(value).decode("utf-8", "surrogateescape") if isinstance(value, str) else value


def _build(words: Words, values: Mapping[str, object], now: Now) -> Submission:
    return build(values, capture(words.command, supervised=True), now, switch)


def _await(context: Context, job_id: int) -> int:
    from inturn.service.control import wait_for
    from inturn.service.outcome import status_of

    (job,) = wait_for(context, [job_id])
    return status_of(context, job)

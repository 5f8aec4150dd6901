"""What `run` and `add` share: from their words to submissions, and the answer.

What takes words apart is all that is loaded at first: a supervisor can come while the rest is.
"""

from __future__ import annotations

import gc
import os
import sys

from inturn.cli.options import GLOBAL, Words, split
from inturn.cli.result import Result
from inturn.core.options import OPTIONS, Option, switch
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.core.schema import Schema
    from inturn.core.spec import Submission
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple

# A message names at most so many jobs.
_NAMED = 10

# What is asked of the submission itself and is no part of a job.
OWN = {
    "array": Option(
        "array", "then", "INDICES[%N]", "one job for each index (1-4,7%2: at most 2 at once); {} is the index"
    ),
    "each": Option("flag", "then", "", "with --array: dependencies on arrays go index by index"),
    "from_file": Option("path", "then", "FILE", "one job for each line of JSON (- for stdin), all or none"),
    "wait": Option(
        "flag", "then", "", "wait for its end; exit with 0 on success, else with the command's status"
    ),
    "dry_run": Option(
        "flag", "then", "", "submit nothing; show what would be, and why it would start now or not"
    ),
}


class Asked(NamedTuple):
    """What is to be submitted. `values` are the options that apply to all of it, defaults included."""

    submissions: list[Submission]
    values: Mapping[str, object]
    now: Now


def parse(verb: str, words: Sequence[str], given: dict[str, object], own: Mapping[str, Option]) -> Words:
    """The options and the command in `words`; `given` are the options before the verb. Raises `usage`."""
    found = split(words, {**OPTIONS, **own, **GLOBAL}, f"inturn {verb} --help")
    values = {**given, **found.values}
    if "each" in values and "array" not in values and "from_file" not in values:
        raise InturnError(
            "usage", "--each: it goes with --array", "Give the jobs an --array, or leave it out."
        )
    if "from_file" in values:
        for name in ("array", "each", "c"):
            if name in values:
                raise InturnError(
                    "usage", f"{switch(name)}: it is said in the file", "Write it into the lines."
                )
        if found.command:
            raise InturnError("usage", "--from-file excludes a command", "Write commands into the lines.")
    return Words(values, found.command)


def understand(words: Words, context: Context, defaults: Mapping[str, object], supervised: bool) -> Asked:
    """The submissions that the words ask for. Raises InturnError for whatever is wrong with them."""
    from inturn.core.request import apply_defaults, build
    from inturn.service.surroundings import capture, read_env_files

    now = context.now()
    given = {name: _as_utf8(value) for name, value in words.values.items() if name in OPTIONS}
    path = words.values.get("from_file")
    if path is not None:
        from inturn.core.lines import parse_lines

        everywhere = apply_defaults(given, defaults, supervised)
        surroundings = capture((), supervised)
        text, name = _read(str(path))
        return Asked(parse_lines(text, name, everywhere, surroundings, now, read_env_files), given, now)
    values = read_env_files(apply_defaults(given, defaults, supervised))
    one = build(values, capture(words.command, supervised), now, switch)
    array = words.values.get("array")
    if array is None:
        return Asked([one], values, now)
    from inturn.core.array import expand

    one = one._replace(index_by_index=bool(words.values.get("each")))
    return Asked(expand(one, str(array), switch("array")), values, now)


def submit(
    words: Words,
    context: Context,
    submit_all: Callable[[Context, Sequence[Submission]], list[int]],
    supervised: bool,
) -> Result:
    """Submit what the words ask for through `submit_all`; the answer is one id a line."""
    from inturn.cli.echo import echo_times
    from inturn.service import configure
    from inturn.service.defaults import submission_rules

    # None of the perhaps very many records can go before all are stored: looking for garbage is in vain.
    gc.disable()
    asked = understand(words, context, configure.defaults(context, submission_rules(context)), supervised)
    ids = submit_all(context, asked.submissions)
    gc.enable()
    echo_times(asked.values, asked.now, context.notice)
    many = "array" in words.values or "from_file" in words.values
    answer = Result(
        data={"ids": ids} if many else {"id": ids[0]},
        lines=lambda: [str(job_id) for job_id in ids],
        unsaid=unsaid(ids),
    )
    if not words.values.get("wait"):
        return answer
    from inturn.cli import output

    output.emit(answer, bool(words.values.get("json")))
    return Result(code=_await(context, ids))


def unsaid(ids: Sequence[int]) -> str:
    """Of jobs that were submitted: how the sentence begins that says so if their ids cannot be printed."""
    if len(ids) == 1:
        return f"job {ids[0]} was submitted, but its id"
    named = ", ".join(map(str, ids[:_NAMED])) + (", …" if len(ids) > _NAMED else "")
    return f"jobs {named} were submitted, but their ids"


def dry_run(words: Words, context: Context, supervised: bool) -> Result:
    """Show what would be submitted, and whether it would start now."""
    from inturn.cli.dry_run import show
    from inturn.service import preview

    asked = understand(words, context, preview.defaults(context), supervised)
    return show(preview.preview(context, asked.submissions))


def schema() -> Schema:
    """Of the answer with --json: the id or ids, or what a dry run tells."""
    from inturn.cli import dry_run
    from inturn.core.schema import ID, either, many, record

    told = dry_run.schema()
    return either(record({"id": ID}), record({"ids": many(ID)}), told, many(told))


def _await(context: Context, ids: list[int]) -> int:
    """Wait for the end. One job passes its status on; of several, 6 says that one did not succeed."""
    from inturn.cli.waiting import await_jobs, tell
    from inturn.service.outcome import status_of

    ended = await_jobs(context, ids, None, quiet=False)
    tell(context, [job for job in ended if job.outcome != "success"])
    if len(ended) == 1:
        return status_of(context, ended[0])
    return 0 if all(job.outcome == "success" for job in ended) else 6


def _read(path: str) -> tuple[bytes, str]:
    try:
        if path == "-":
            return sys.stdin.buffer.read(), "standard input"
        with open(os.fsencode(path), "rb") as file:
            return file.read(), path
    except OSError as problem:
        raise InturnError(
            "invalid_value", f"--from-file: {path} cannot be read: {problem.strerror}"
        ) from None


def _as_utf8(value: object) -> object:
    """The core decodes and encodes as UTF-8, whatever the locale with which Python has decoded our words."""
    if isinstance(value, list):
        return [_as_utf8(one) for one in value]
    return os.fsencode(value).decode("utf-8", "surrogateescape") if isinstance(value, str) else value

"""`inturn list`: jobs, the newest first.

Its words are taken apart as those of a submission are: argparse would make up a fifth of what it costs.
"""

from __future__ import annotations

from inturn.cli import lines
from inturn.cli.options import GLOBAL, Words, explain_group, split
from inturn.cli.result import Result
from inturn.core.duration import parse_duration, parse_integer, parse_limit
from inturn.core.options import Option, read, switch
from inturn.core.views import UMBRELLAS, Filters, check_status
from inturn.errors import InturnError
from inturn.service import query
from inturn.service.select import LARGEST_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from rich.console import Console

    from inturn.core.views import View
    from inturn.service.context import Context

    T = TypeVar("T")
    from inturn.core.schema import Schema


HELP = "list jobs, the newest first"
EXAMPLES = (
    "inturn list",
    "inturn list --status active --status queued",
    "inturn list --all --tag project=x --json",
    "inturn list --status live --watch",
)
CREATES = False

DEFAULT_LIMIT = 50


_ANY = "only jobs"
_OPTIONS = {
    "status": Option(
        "word", _ANY, "STATUS", f"in one of these states, or {', '.join(UMBRELLAS)}", repeatable=True
    ),
    "queue": Option("word", _ANY, "QUEUE", "of one of these queues", repeatable=True),
    "pool": Option("word", _ANY, "POOL", "in one of these pools", repeatable=True),
    "name": Option("word", _ANY, "NAME", "with one of these names", repeatable=True),
    "tag": Option("word", _ANY, "KEY[=VALUE]", "with one of these tags", repeatable=True),
    "array": Option("word", _ANY, "ID", "of one of these arrays", repeatable=True),
    "limit": Option("word", "how many", "N", f"at most so many (default: {DEFAULT_LIMIT})"),
    "all": Option("flag", "how many", "", "every one"),
    "watch": Option(
        "word",
        "how often",
        "[SECONDS]",
        "at a terminal: keep the table up to date, with a look every so often (default: 1s)",
    ),
}
_WATCH = "--watch"
_WATCH_EVERY = "1s"


def parse(words: Sequence[str], given: dict[str, object]) -> Words:
    """The options in `words`; `given` are those before the verb. Raises InturnError `usage`."""
    found = split(_with_interval(words), {**_OPTIONS, **GLOBAL}, "inturn list --help")
    if found.command and "help" not in found.values:
        raise InturnError(
            "usage",
            f"unexpected argument {found.command[0]!r}",
            "Jobs are filtered by options, or named to: inturn show",
        )
    if "limit" in found.values and "all" in found.values:
        raise InturnError("usage", "--all excludes --limit", "Leave one out.")
    return Words({**given, **found.values}, [])


def _with_interval(words: Sequence[str]) -> list[str]:
    """The words, with the interval of --watch written out where it is left out: it is all that may be."""
    written = list(words)
    for place, word in enumerate(words):
        if word == _WATCH and (place + 1 == len(words) or words[place + 1].startswith("-")):
            written[place] = f"{_WATCH}={_WATCH_EVERY}"
    return written


def configure(parser: ArgumentParser) -> None:
    """What `inturn list --help` explains; see `parse` for how the words are taken apart."""
    for group in dict.fromkeys(it.group for it in _OPTIONS.values()):
        explain_group(parser, group, {name: it for name, it in _OPTIONS.items() if it.group == group})
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(lines.JOB_COLUMNS)}."


def execute(words: Words, context: Context) -> Result:
    """List the jobs that were asked for. Raises InturnError `invalid_value`."""
    filters = _filters(words, context)
    limit = None if "all" in words.values else _limit(words)
    if "watch" in words.values:
        return _watch(words, context, filters, limit)
    if words.values.get("json"):
        from inturn.core import wire

        return Result(query.listing(context, filters, limit, True, wire.job))
    return Result(
        lines=lambda: query.listing(context, filters, limit, False, lines.job),
        rich=lambda console: _draw(console, context, filters, limit),
    )


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import many, part

    return many(part("job"))


def _watch(words: Words, context: Context, filters: Filters, limit: int | None) -> Result:
    import sys

    every = _named(_WATCH, parse_duration, str(words.values["watch"]))
    if "json" in words.values or sys.stdout is None or not sys.stdout.isatty():
        raise InturnError(
            "usage", f"{_WATCH} draws at a terminal", "For a program: inturn events --follow --json"
        )
    from inturn.cli.watch import watch

    watch(context, filters, limit, every)
    return Result()


def _filters(words: Words, context: Context) -> Filters:
    return Filters(
        statuses=tuple(_named("--status", check_status, word) for word in _all(words, "status")),
        queues=tuple(_all(words, "queue")),
        pools=tuple(_all(words, "pool")),
        names=tuple(_all(words, "name")),
        tags=tuple(read("tag", _all(words, "tag"), context.now(), switch)),
        arrays=tuple(_named("--array", _array, word) for word in _all(words, "array")),
    )


def _all(words: Words, name: str) -> list[str]:
    """What was given for a repeatable option."""
    found = words.values.get(name, [])
    assert isinstance(found, list)
    return found


def _limit(words: Words) -> int | None:
    text = words.values.get("limit")
    return DEFAULT_LIMIT if text is None else _named("--limit", parse_limit, str(text))


def _array(text: str) -> int:
    return parse_integer(text, 1, LARGEST_ID)


def _named(option: str, parse: Callable[[str], T], text: str) -> T:
    """What `parse` makes of a value; what is wrong with it begins with the option's name."""
    try:
        return parse(text)
    except InturnError as problem:
        raise InturnError(problem.code, f"{option}: {problem.message}", problem.hint) from None


def _draw(console: Console, context: Context, filters: Filters, limit: int | None) -> None:
    from inturn.cli import render

    def itself(view: View) -> View:
        return view

    # One more than is shown tells whether there are more.
    wanted = None if limit is None else limit + 1
    found = query.listing(context, filters, wanted, False, itself)
    render.jobs(console, found[:limit], context.now().wall)
    if limit is not None and len(found) > limit:
        render.remark(console, f"the newest {limit}; --all shows every one")

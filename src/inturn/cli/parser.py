"""argparse as inturn uses it: no abbreviations, and its errors are ours. Only imported where it is needed."""

from __future__ import annotations

import argparse

from inturn.cli.arrange import options_first
from inturn.cli.options import GLOBAL, explain_group, unknown_option
from inturn.cli.text import did_you_mean
from inturn.core.duration import quoted
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn, Protocol

    class Verb(Protocol):
        """The module of a verb.

        One that changes something has TIDIES as well: see `main`. COMMAND and JOBS are for `complete`.
        """

        HELP: str
        EXAMPLES: tuple[str, ...]
        CREATES: bool

        def configure(self, parser: Parser) -> None:
            """Add the verb's arguments."""


class Parser(argparse.ArgumentParser):
    """A parser that raises InturnError `usage` instead of ending the process."""

    examples: tuple[str, ...] = ()

    def error(self, message: str) -> NoReturn:
        """Called by argparse for whatever does not parse."""
        raise InturnError("usage", message, f"See {self.prog} --help")

    def format_help(self) -> str:
        """The help without colours; argparse itself prints it for a -h among other letters."""
        from inturn.cli.help import plain
        from inturn.cli.manual import read

        return plain(read(self))

    def parse(self, words: Sequence[str], given: dict[str, object]) -> argparse.Namespace:
        """The arguments in `words` and those `given` before the verb. Raises InturnError `usage`."""
        known = self._option_string_actions
        for word in words:
            if word == "--":
                break
            # Any word like that is an option to argparse; it would rather complain of what is missing.
            written = _option_in(word)
            if written and written not in known:
                raise unknown_option(word.partition("=")[0], known, f"{self.prog} --help")
        before: dict[str, object] = {"dir": None, "config": None, "json": False}
        return self.parse_args(options_first(words, known), argparse.Namespace(**before | given))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse's own way to say it is different in each of its versions, and makes no suggestion.
        choices = None if action.choices is None else tuple(action.choices)
        if choices is not None and value not in choices:
            what = "/".join(action.option_strings) or action.dest
            raise InturnError(
                "usage",
                f"{what}: {quoted(str(value))} is not one of its values{did_you_mean(str(value), choices)}",
                f"Write {' or '.join(choices)}. See {self.prog} --help",
            )


def _option_in(word: str) -> str:
    """The option with which argparse would take a word to begin; '' if it is a value."""
    if word.startswith("--"):
        return word.partition("=")[0]
    is_number = word[1:].replace(".", "", 1).isdigit()
    if len(word) < 2 or not word.startswith("-") or is_number or " " in word:
        return ""
    return word[:2]


def build(name: str, verb: Verb) -> Parser:
    """The parser of one verb. What it appends to the epilog are paragraphs for the end of the help."""
    parser = Parser(
        prog=f"inturn {name}",
        description=verb.HELP,
        epilog="",
        allow_abbrev=False,
        add_help=False,
        formatter_class=_Formatter,
    )
    parser.examples = verb.EXAMPLES
    verb.configure(parser)
    explain_group(parser, "everywhere", GLOBAL)
    return parser


class _Formatter(argparse.HelpFormatter):
    """argparse makes one for each argument, and its own way to learn the width imports half a library."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)

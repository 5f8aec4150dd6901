"""argparse as inturn uses it: no abbreviations, and its errors are ours. Only imported where it is needed."""

from __future__ import annotations

import argparse
import os
import sys

from inturn.cli.options import GLOBAL, explain_group, unknown_option
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn, Protocol

    class Verb(Protocol):
        """The module of a verb. One that changes something has TIDIES as well: see `main`."""

        HELP: str
        EXAMPLES: tuple[str, ...]
        CREATES: bool

        def configure(self, parser: argparse.ArgumentParser) -> None:
            """Add the verb's arguments."""


_WIDEST = 110  # columns; longer lines are hard to read


class Parser(argparse.ArgumentParser):
    """A parser that raises InturnError `usage` instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Called by argparse for whatever does not parse."""
        raise InturnError("usage", message, f"See {self.prog} --help")

    def parse(self, words: Sequence[str], given: dict[str, object]) -> argparse.Namespace:
        """The arguments in `words` and those `given` before the verb. Raises InturnError `usage`."""
        known = self._option_string_actions
        for word in words:
            written = word.partition("=")[0]
            if word == "--":
                break
            # Any word like that is an option to argparse; it would rather complain of what is missing.
            if written.startswith("--") and written not in known:
                raise unknown_option(written, known, f"{self.prog} --help")
        before: dict[str, object] = {"dir": None, "config": None, "json": False}
        return self.parse_args(words, argparse.Namespace(**before | given))


def build(name: str, verb: Verb) -> Parser:
    """The parser of one verb."""
    examples = "".join(f"\n  {example}" for example in verb.EXAMPLES)
    parser = Parser(
        prog=f"inturn {name}",
        description=verb.HELP,
        epilog=f"examples:{examples}" if examples else None,
        allow_abbrev=False,
        add_help=False,
        formatter_class=_Formatter,
    )
    verb.configure(parser)
    explain_group(parser, "everywhere", GLOBAL)
    return parser


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """argparse makes one for each argument, and its own way to learn the width imports half a library."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=34, width=_width())


def _width() -> int:
    try:
        columns = int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 80
        except (OSError, ValueError):
            columns = 80
    return max(min(columns, _WIDEST) - 2, 40)

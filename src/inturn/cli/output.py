"""The one printer: JSON if it was asked for, tables for a person at a terminal, plain lines for the rest.

Standard output and error may be closed from the start (`>&-`): then Python has None for them, and what would
have gone there is dropped.
"""

from __future__ import annotations

import sys

from inturn.cli.text import printable
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.cli.result import Result

SCHEMA_VERSION = 1


class Unwritten(InturnError):
    """Standard output refuses what is written to it: InturnError `failed`, which must be told elsewhere."""

    def __init__(self, why: OSError, unsaid: str = "") -> None:
        what = f"{unsaid} could not be written to the standard output" if unsaid else ""
        super().__init__("failed", f"{what or 'standard output cannot be written'}: {why.strerror}")


def emit(result: Result, as_json: bool) -> None:
    """Print what a verb has to say, and see it out of our hands: errors of the reader show here.

    Raises BrokenPipeError if there is no reader any more, and Unwritten for any other refusal.
    """
    if sys.stdout is None:
        return
    try:
        _emit(result, as_json)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritten(error, result.unsaid) from error


def _emit(result: Result, as_json: bool) -> None:
    if as_json:
        if result.data is not None:
            print_json({"data": result.data})
    elif result.rich is not None and sys.stdout.isatty():
        from rich.console import Console

        # Ids and times are no decoration: only what a verb colours is coloured. rich honours NO_COLOR.
        result.rich(Console(highlight=False))
    elif result.lines is not None:
        for line in result.lines():
            sys.stdout.write(line + "\n")
    sys.stdout.flush()


def print_json(fields: dict[str, object]) -> None:
    """Print one document in its envelope, on one line unless a person reads it. It is pure ASCII."""
    import json

    document = {"schema_version": SCHEMA_VERSION, **fields}
    sys.stdout.write(json.dumps(document, indent=2 if sys.stdout.isatty() else None) + "\n")


def report(error: InturnError, as_json: bool) -> None:
    """Print an error: its document on standard output for programs, else a line or two on standard error."""
    if as_json and sys.stdout is not None:
        print_json({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
        sys.stdout.flush()
        return
    tell(f"inturn: {error.message}")
    if error.hint:
        tell(f"hint: {error.hint}")


def notice(text: str) -> None:
    """Tell the user something that is neither the answer nor an error."""
    tell(f"inturn: {text}")


def tell(text: str) -> None:
    """Print lines on standard error."""
    if sys.stderr is not None:
        # Quoted values are escaped where they are quoted; this is for what slipped through, such as paths.
        sys.stderr.write("".join(printable(line) + "\n" for line in text.split("\n")))

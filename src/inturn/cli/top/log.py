"""The output of a job as lines that can be shown: what it would have a terminal do is left out."""

from __future__ import annotations

import re

from rich.text import Text

from inturn.cli.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.service.tail import Tail

# A longer line is shown up to here.
_LONGEST = 2000

# What begins with ESC or its one-byte form: commands with parameters, texts for the terminal, all the others.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


def log(tail: Tail | None, most: int) -> Text:
    """The last `most` lines, and a remark where there are none."""
    if tail is None or not tail.run:
        return Text("has not run yet", style="dim")
    found = _lines(tail, most)
    return Text("\n".join(found)) if found else Text("no output", style="dim")


def _lines(tail: Tail, most: int) -> list[str]:
    text = _ESCAPES.sub("", tail.data.decode("utf-8", "backslashreplace"))
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    if tail.cut and len(rows) > 1:
        rows = rows[1:]  # its beginning is missing
    return [_shown(row) for row in rows[-most:]]


def _shown(row: str) -> str:
    """A line as it stands after it has been written over: a bar of progress is its last state."""
    row = row.rstrip("\r").rpartition("\r")[2].expandtabs()
    return printable(row if len(row) <= _LONGEST else row[:_LONGEST] + "…")

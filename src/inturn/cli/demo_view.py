"""How the demonstration is told: the commands, what was committed since, and a table that grows with it."""

from __future__ import annotations

import os
from shlex import quote

from inturn.cli.text import printable
from inturn.core import bars
from inturn.core.moment import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NamedTuple

    from inturn.core.proof import Claim
    from inturn.core.views import LedgerEntry
else:
    from inturn.core.records import NamedTuple

# Columns of a line where nobody says how many there are.
WIDTH = 80

_HEAD = ("job", "command", "status", "runs")
_GAP = "  "
_MARKS = {True: "yes  ", False: "NO   "}


class Line(NamedTuple):
    """A line of the table: `text`, which has a job's bar from column `bar` on (None: it has none)."""

    text: str
    bar: int | None = None


class Scene:
    """What has happened so far, as it is told."""

    def __init__(self, directory: str, store: str) -> None:
        self.directory = directory
        self.store = store
        self.commands: list[str] = []
        self.entries: list[LedgerEntry] = []
        self._titles: dict[int, str] = {}
        self._last: Sequence[str] = ()

    def command(self, words: Sequence[str]) -> None:
        """A command is about to be run."""
        self._last = words
        self.commands.append(" ".join(map(quote, words)))

    def submitted(self, job_id: int) -> None:
        """The last command has submitted a job."""
        self._titles[job_id] = _title(self._last)

    def entry(self, entry: LedgerEntry) -> None:
        """A change was committed."""
        self.entries.append(entry)

    def opening(self) -> Iterator[str]:
        """Where it happens, and the configuration that counts there."""
        yield f"Working directory: {printable(self.directory)}"
        yield ""
        yield "$ cat inturn.yml"
        with open(os.path.join(self.directory, "inturn.yml"), encoding="utf-8") as file:
            yield from file.read().splitlines()
        yield ""

    def told(self, entry: LedgerEntry) -> str:
        """One change, with the time since the first one: `1.234s  prepare_data  running -> completed`."""
        since = (entry.at - self.entries[0].at) / SECOND
        change = f"{entry.source} -> {entry.target}" if entry.source else entry.target
        reason = f" ({entry.reason})" if entry.reason else ""
        width = max(map(len, self._titles.values()))
        return f"{since:7.3f}s  {printable(self._titles[entry.job_id]):{width}}  {change}{reason}"

    def table(self, width: int, until: int = 0) -> Iterator[Line]:
        """A line for each job: what it runs, how it is, how many runs it had, and its life as a bar.

        The bars reach from the first change to the last, or to `until` (wall microseconds) if that is later.
        """
        rows = [_HEAD]
        for job_id, title in self._titles.items():
            entries = [entry for entry in self.entries if entry.job_id == job_id]
            runs = sum(entry.kind == "admitted" for entry in entries)
            rows.append((str(job_id), printable(title), _status(entries), str(runs)))
        sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
        begin = sum(sizes) + len(_GAP) * len(sizes)
        drawn = bars.bars(self.entries, max(width - 1 - begin, 10), until)
        for row, bar in zip(rows, ["", *(drawn.get(job_id, "") for job_id in self._titles)], strict=True):
            cells = (f"{cell:{size}}" for cell, size in zip(row, sizes, strict=True))
            yield Line((_GAP.join(cells) + _GAP + bar).rstrip(), begin if bar else None)
        yield Line(bars.LEGEND)

    def farewell(self) -> Iterator[str]:
        """What can be done now."""
        yield "Everything is kept. Look around with:"
        yield f"    inturn --dir {printable(quote(self.store))} list"


def folded(words: Sequence[str], width: int = WIDTH) -> Iterator[str]:
    """A command as a person would type it: too long a line ends with a backslash, before an option."""
    parts: list[str] = []
    for place, word in enumerate(words):
        if word == "--":
            parts.append(" ".join(map(quote, words[place:])))
            break
        if word.startswith("-") or not parts:
            parts.append(quote(word))
        else:
            parts[-1] += " " + quote(word)
    line = "$ " + parts[0]
    for part in parts[1:]:
        if len(line) + len(part) + 3 > width:
            yield printable(line) + " \\"
            line = "    " + part
        else:
            line += " " + part
    yield printable(line)


def told(claim: Claim, width: int = WIDTH) -> Iterator[str]:
    """A claim, whether it holds, and what in the ledger says so."""
    from textwrap import wrap

    indent = " " * len(_MARKS[True])
    yield from wrap(claim.text, width - 1, initial_indent=_MARKS[claim.holds], subsequent_indent=indent)
    yield from wrap(claim.evidence, width - 1, initial_indent=indent + "  ", subsequent_indent=indent + "  ")


def _title(command: Sequence[str]) -> str:
    """The name that a command gives its job, or else what it runs, without the interpreter."""
    words = list(command)
    if "--name" in words:
        return words[words.index("--name") + 1]
    return " ".join(words[words.index("--") + 2 :])


def _status(entries: Sequence[LedgerEntry]) -> str:
    if not entries:
        return ""
    last = entries[-1]
    if last.target == "completed":
        return last.reason or last.target
    return "backoff" if last.kind == "repeated" else last.target

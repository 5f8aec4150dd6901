"""Pages as a person reads them: as wide as the terminal, and in colour if it has any."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from inturn.cli.manual import Entry, Group, Page

    Paint = Callable[[str, str], str]

NARROWEST, WIDEST = 40, 110  # columns; longer lines are hard to read
_TWO_COLUMNS_FROM = 64
_COLUMN = 32

_HEADING, _OPTION = "1", "36"  # bold, cyan


def shown(page: Page) -> str:
    """The page for standard output: in colour only at a terminal."""
    return render(page, _width(), _in_colour if _has_colours() else _plainly)


def plain(page: Page) -> str:
    """The page without colours, as wide as the terminal."""
    return render(page, _width(), _plainly)


def render(page: Page, width: int, paint: Paint) -> str:
    """The page in lines of at most `width` columns; `paint` colours a text in a style."""
    lines = [*_usage(page.usage, width, paint), ""]
    for paragraph in page.about:
        lines += [*_wrapped(paragraph, width), ""]
    for group in page.groups:
        lines += [*_group(group, width, paint), ""]
    if page.examples:
        lines.append(paint(_HEADING, "examples:"))
        for example in page.examples:
            lines += folded(example, width, "  ")
        lines.append("")
    for paragraph in page.notes:
        lines += [*_wrapped(paragraph, width), ""]
    return "\n".join(lines)


def folded(command: str, width: int, indent: str = "") -> Iterator[str]:
    """A command line in lines that a shell takes as one; what is quoted stays together."""
    import re

    first, *rest = re.findall(r"(?:'[^']*'|[^\s'])+", command)
    line = indent + first
    for word in rest:
        if len(line) + len(word) + len("  \\") > width:
            yield line + " \\"
            line = f"{indent}    {word}"
        else:
            line += f" {word}"
    yield line


def _usage(forms: Iterable[str], width: int, paint: Paint) -> Iterator[str]:
    lead = "usage: "
    for form in forms:
        first, *rest = _wrapped(form, width - len(lead), hanging="    ")
        yield (paint(_HEADING, lead) if lead.strip() else lead) + first
        yield from (" " * len(lead) + line for line in rest)
        lead = " " * len(lead)


def _group(group: Group, width: int, paint: Paint) -> Iterator[str]:
    first, *rest = _wrapped(f"{group.title}:", width)
    yield from (paint(_HEADING, line) for line in (first, *rest))
    column = min(max(len(entry.written) for entry in group.entries) + 4, _COLUMN)
    for entry in group.entries:
        if width < _TWO_COLUMNS_FROM:
            yield from _entry_below(entry, width, paint)
        else:
            yield from _entry_beside(entry, column, width, paint)


def _entry_beside(entry: Entry, column: int, width: int, paint: Paint) -> Iterator[str]:
    """What it is for to the right of how it is written, if there is room."""
    told = list(_wrapped(explanation(entry), width - column))
    written = paint(_OPTION, entry.written)
    gap = column - 2 - len(entry.written)
    if gap < 2 or not told:
        yield f"  {written}"
    else:
        yield f"  {written}{' ' * gap}{told.pop(0)}"
    yield from (" " * column + line for line in told)


def _entry_below(entry: Entry, width: int, paint: Paint) -> Iterator[str]:
    for line in _wrapped(entry.written, width - 2, hanging="    "):
        yield f"  {paint(_OPTION, line)}"
    yield from (f"      {line}" for line in _wrapped(explanation(entry), width - 6))


def explanation(entry: Entry) -> str:
    """What an entry is for, and that it may be repeated."""
    repeatable = entry.many and entry.switches and "repeatable" not in entry.help
    return entry.help + ("; repeatable" if repeatable else "")


def _wrapped(text: str, width: int, hanging: str = "") -> list[str]:
    from textwrap import wrap

    # An option that is torn in two at a hyphen cannot be found or copied.
    return wrap(text, width, subsequent_indent=hanging, break_on_hyphens=False)


def _width() -> int:
    try:
        columns = int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 80
        except (OSError, ValueError):
            columns = 80
    return max(min(columns, WIDEST), NARROWEST)


def _has_colours() -> bool:
    """As rich decides it: a terminal that is not dumb, and no NO_COLOR (https://no-color.org)."""
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("dumb", "unknown")


def _in_colour(style: str, text: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def _plainly(_style: str, text: str) -> str:
    return text

"""What a verb is, as data: what its help, its manual page and the completion of its words are made of.

All of it is read off the verb's own parser, so that there is one record of each option.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Iterator
    from typing import NamedTuple

    from inturn.cli.parser import Parser
else:
    from inturn.core.records import NamedTuple


class Entry(NamedTuple):
    """An option, or an argument: that has no `switches`. A switch without a value has no `metavar`.

    `name` is the one that programs know it by; `many` says that it may be given again, `needed` that it must
    be given.
    """

    switches: tuple[str, ...]
    name: str
    metavar: str
    help: str
    many: bool = False
    needed: bool = False
    choices: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        """How it is written: `-n, --lines LINES`, or `JOB`."""
        return " ".join(filter(None, (", ".join(self.switches), self.metavar)))


class Group(NamedTuple):
    """Options that belong together, or all arguments."""

    title: str
    entries: tuple[Entry, ...]


class Page(NamedTuple):
    """All about a verb. `usage` has one line for each form; `about` and `notes` are paragraphs."""

    usage: tuple[str, ...]
    about: tuple[str, ...]
    groups: tuple[Group, ...]
    examples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The arguments and options of all groups."""
        return tuple(entry for group in self.groups for entry in group.entries)


ARGUMENTS, OPTIONS = "arguments", "options"
_TITLES = {"positional arguments": ARGUMENTS}


def read(parser: Parser) -> Page:
    """The page of a verb, from its parser."""
    groups = [
        Group(_TITLES.get(group.title or "", group.title or ""), tuple(map(_entry, group._group_actions)))
        for group in parser._action_groups
        if group._group_actions
    ]
    return Page(
        _usage(parser, groups),
        tuple(_paragraphs(parser.description)),
        tuple(groups),
        parser.examples,
        tuple(_paragraphs(parser.epilog)),
    )


def _entry(action: Action) -> Entry:
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar or "|".join(choices) or action.dest.upper()
    assert isinstance(metavar, str)
    return Entry(
        tuple(action.option_strings),
        action.dest,
        "" if action.nargs == 0 else metavar,
        (action.help or "").replace("%%", "%"),
        many=type(action).__name__ == "_AppendAction" or action.nargs in ("*", "+"),
        needed=action.required,
        choices=choices,
    )


def _usage(parser: Parser, groups: list[Group]) -> tuple[str, ...]:
    if parser.usage:
        return tuple(line.strip() for line in parser.usage.splitlines())
    words = [parser.prog, "[OPTIONS]"]
    for entry in (entry for group in groups for entry in group.entries if not entry.switches):
        word = entry.metavar + ("…" if entry.many else "")
        words.append(word if entry.needed else f"[{word}]")
    return (" ".join(words),)


def _paragraphs(text: str | None) -> Iterator[str]:
    for paragraph in (text or "").split("\n\n"):
        joined = " ".join(paragraph.split())
        if joined:
            yield joined

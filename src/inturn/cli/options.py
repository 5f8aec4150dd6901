"""Options as words of the command line: taking them apart, and explaining them.

A submission's words are taken apart here and not by argparse, whose ideas of where options end and a command
begins would touch the command, and which alone costs a submission more than all the rest of its parsing.
"""

from __future__ import annotations

from inturn.cli.text import did_you_mean, printable
from inturn.core.options import GROUPS, OPTIONS, Option, switch
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

# What stands before or after any verb.
GLOBAL: dict[str, Option] = {
    "dir": Option(
        "path", "everywhere", "PATH", "the store (default: $INTURN_DIR, else $XDG_STATE_HOME/inturn)"
    ),
    "config": Option(
        "path",
        "everywhere",
        "PATH",
        "the configuration file (default: $INTURN_CONFIG, else $XDG_CONFIG_HOME/inturn/inturn.yml)",
    ),
    "json": Option("flag", "everywhere", "", "answer with one JSON document"),
    "help": Option("flag", "everywhere", "", "explain the verb and its options"),
}


class Words(NamedTuple):
    """Options that were given, by their names with underscores, and the words behind them.

    A value is text as it was written, a list of that for a repeatable option, or True for a switch.
    """

    values: dict[str, object]
    command: list[str]


def split(words: Sequence[str], options: Mapping[str, Option], help_command: str) -> Words:
    """Take options off the front of `words`: up to `--`, or to the first word that is none.

    What follows is not looked at. Of an option that is not repeatable the last one counts; after --help
    nothing does. Raises InturnError `usage` for an unknown option, a switch with a value or an option without
    one. `help_command` is named in its hint.
    """
    switches = {switch(name): name for name in options} | {"-h": "help"}
    values: dict[str, object] = {}
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return Words(values, list(words[place + 1 :]))
        if not word.startswith("-") or word == "-":
            break
        place += 1
        written, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        name = switches.get(written)
        if name is None or name not in options:
            raise unknown_option(written, switches, help_command)
        if options[name].kind == "flag":
            if equals:
                raise InturnError("usage", f"{written} takes no value", f"Write {written} alone.")
            values[name] = True
            if name == "help":
                break
            continue
        if not equals:
            value = _next_word(words, place, written, switches)
            place += 1
        if options[name].repeatable:
            given = values.setdefault(name, [])
            assert isinstance(given, list)
            given.append(value)
        else:
            values[name] = value
    return Words(values, list(words[place:]))


def unknown_option(written: str, known: Iterable[str], help_command: str) -> InturnError:
    """The error for an option that does not exist, abbreviations included, or belongs to another verb."""
    named = OPTIONS.get(written.lstrip("-").replace("-", "_"))
    if named is not None and written.startswith("--"):
        verbs = f"inturn {named.only} has" if named.only else "inturn run and inturn add have"
        hint = f"{verbs} it, behind the verb. All options here: {help_command}"
        return InturnError("usage", f"unknown option {printable(written)}", hint)
    close = did_you_mean(written, known)
    return InturnError("usage", f"unknown option {printable(written)}{close}", f"All options: {help_command}")


def _next_word(words: Sequence[str], place: int, written: str, switches: Mapping[str, str]) -> str:
    """The word after an option that wants a value. Another option is none: it would vanish unnoticed."""
    if place == len(words):
        raise InturnError("usage", f"{written} needs a value")
    word = words[place]
    if word == "--" or word.partition("=")[0] in switches:
        hint = f"If that is its value, write {written}={word}" if written.startswith("--") else ""
        raise InturnError("usage", f"{written} needs a value, and {word} is an option", hint)
    return word


def explain(parser: ArgumentParser, verb: str, own: Mapping[str, Option]) -> None:
    """Give `parser` the options of a submission in groups, and those that `verb` has of its `own`."""
    for group, about in GROUPS:
        members = {name: it for name, it in OPTIONS.items() if it.group == group and it.only in ("", verb)}
        explain_group(parser, f"{group} ({about})", members)
    for group in dict.fromkeys(it.group for it in own.values()):
        explain_group(parser, group, {name: it for name, it in own.items() if it.group == group})


def explain_group(parser: ArgumentParser, title: str, options: Mapping[str, Option]) -> None:
    """Add a group of options that appear in the namespace only if they were given."""
    from argparse import SUPPRESS

    group = parser.add_argument_group(title)
    for name, option in options.items():
        switches = ("-h", "--help") if name == "help" else (switch(name),)
        text = option.help.replace("%", "%%")
        if name == "help":
            group.add_argument(*switches, action="help", help=text)
        elif option.kind == "flag":
            group.add_argument(*switches, action="store_true", default=SUPPRESS, help=text)
        else:
            action = "append" if option.repeatable else "store"
            group.add_argument(*switches, metavar=option.metavar, action=action, default=SUPPRESS, help=text)

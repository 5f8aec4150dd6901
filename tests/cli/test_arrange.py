"""Options may stand anywhere among the words of a verb, up to `--`."""

from __future__ import annotations

import argparse
from importlib import import_module
from itertools import chain

import pytest

from inturn.cli.parser import Parser, build
from inturn.cli.verbs import VERBS
from inturn.errors import InturnError

# What a positional argument may be given, where that is not the id of a job.
CHOSEN = {("config", "action"): "validate", ("config", "file"): "inturn.yml", ("pools", "action"): "set"}


def parser_of(name: str) -> Parser:
    return build(name, import_module(f"inturn.cli.verbs.{name}"))


WITH_POSITIONALS = [name for name in VERBS if parser_of(name)._get_positional_actions()]


def words_for(name: str, action: argparse.Action) -> list[str]:
    """Words for a positional argument; several where there may be several."""
    if action.nargs in ("*", "+"):
        return ["5", "6", "7"]
    return [CHOSEN.get((name, action.dest)) or (next(iter(action.choices)) if action.choices else "5")]


def options_of(parser: Parser) -> list[list[str]]:
    """Every option of a verb with a value that it may have; one of those that exclude each other."""
    excluded = {id(one) for group in parser._mutually_exclusive_groups for one in group._group_actions[1:]}
    found = []
    for action in parser._get_optional_actions():
        if id(action) not in excluded and "--help" not in action.option_strings:
            value = [] if action.nargs == 0 else [next(iter(action.choices)) if action.choices else "3"]
            found.append([action.option_strings[0], *value])
    return found


def arrangements(options: list[list[str]], positionals: list[str]) -> list[list[str]]:
    """The same words with the options before, behind, and at every place between the positional arguments."""
    flat = [*chain(*options)]
    first, others = options[0], [*chain(*options[1:])]
    found = [[*flat, *positionals], [*positionals, *flat], [*flat, "--", *positionals]]
    for cut in range(1, len(positionals)):
        found.append([*positionals[:cut], *flat, *positionals[cut:]])
        found.append([*first, *positionals[:cut], *others, *positionals[cut:]])
    return found


def test_the_verbs_with_positional_arguments_are_found() -> None:
    assert {"config", "pools", "limit", "show", "wait", "cancel", "edit"} <= set(WITH_POSITIONALS)


@pytest.mark.parametrize("name", WITH_POSITIONALS)
def test_options_stand_before_between_and_behind_the_positional_arguments(name: str) -> None:
    parser = parser_of(name)
    given = {one.dest: words_for(name, one) for one in parser._get_positional_actions()}
    ways = arrangements(options_of(parser), [*chain(*given.values())])
    first, *others = (parser.parse(words, {}) for words in ways)
    for dest, words in given.items():
        assert getattr(first, dest) in (words, words[0])
    for words, other in zip(ways[1:], others, strict=True):
        assert other == first, words


@pytest.fixture
def parser() -> Parser:
    parser = Parser(prog="inturn look", allow_abbrev=False, add_help=False)
    parser.add_argument("jobs", nargs="*")
    parser.add_argument("-f", action="store_true")
    parser.add_argument("-n", metavar="LINES")
    parser.add_argument("--note")
    return parser


@pytest.mark.parametrize(
    "words",
    [
        ["-n", "5", "7"],
        ["7", "-n", "5"],
        ["-n5", "7"],
        ["-f", "-n", "5", "7"],
        ["-fn", "5", "7"],
        ["-fn5", "7"],
    ],
)
def test_a_value_is_no_positional_argument(parser: Parser, words: list[str]) -> None:
    found = parser.parse(words, {})
    assert (found.jobs, found.n) == (["7"], "5")


def test_a_value_may_be_a_negative_number_or_hold_spaces(parser: Parser) -> None:
    found = parser.parse(["7", "-n", "-5", "--note", "- a b", "8", "--note=--x y"], {})
    assert (found.jobs, found.n, found.note) == (["7", "8"], "-5", "--x y")


def test_what_stands_behind_two_dashes_is_no_option(parser: Parser) -> None:
    assert parser.parse(["6", "-n5", "--", "-n", "--note"], {}).jobs == ["6", "-n", "--note"]


def test_a_lone_dash_and_a_negative_number_are_no_options(parser: Parser) -> None:
    found = parser.parse(["-", "-f", "-7"], {})
    assert (found.jobs, found.f) == (["-", "-7"], True)


@pytest.mark.parametrize("words", [["7", "-n"], ["-n", "-f", "7"], ["--note", "--note", "x", "7"], ["-fn"]])
def test_a_value_that_is_missing_is_missed(parser: Parser, words: list[str]) -> None:
    with pytest.raises(InturnError, match="expected one argument"):
        parser.parse(words, {})

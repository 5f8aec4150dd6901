from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from inturn.cli.parser import Parser, build
from inturn.errors import InturnError


class Verb:
    """A verb as its module describes it."""

    HELP = "show 100 % of it"
    EXAMPLES: tuple[str, ...] = ("inturn look 7", "inturn look --all")
    CREATES = False

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("jobs", nargs="+", metavar="JOB")
        parser.add_argument("--all", action="store_true", help="100 %% of them")
        parser.add_argument("-n", type=int, metavar="LINES")


@pytest.fixture
def parser() -> Parser:
    return build("look", Verb())


def refused(parser: Parser, *words: str) -> InturnError:
    with pytest.raises(InturnError) as caught:
        parser.parse(words, {})
    assert caught.value.code == "usage"
    return caught.value


def test_global_options_stand_before_or_after_the_verb(parser: Parser) -> None:
    found = parser.parse(["7", "--json", "--dir=d"], {"dir": "before", "config": "c"})
    assert (found.json, found.dir, found.config, found.jobs) == (True, "d", "c", ["7"])


def test_without_global_options_they_are_unset(parser: Parser) -> None:
    found = parser.parse(["7"], {})
    assert (found.json, found.dir, found.config) == (False, None, None)


def test_abbreviations_are_unknown_options_with_a_suggestion(parser: Parser) -> None:
    assert refused(parser, "7", "--al").message == "unknown option --al (did you mean --all?)"


def test_an_unknown_option_is_named_even_when_something_is_missing_too(parser: Parser) -> None:
    assert refused(parser, "--jsn").message == "unknown option --jsn (did you mean --json?)"


def test_what_else_does_not_parse_is_a_usage_error_with_a_way_to_the_help(parser: Parser) -> None:
    for words in ([], ["7", "-n", "x"], ["7", "--all=1"]):
        assert refused(parser, *words).hint == "See inturn look --help"


def test_a_short_option_that_does_not_exist_is_unknown_and_a_number_is_a_value(parser: Parser) -> None:
    assert refused(parser, "7", "-z").message == "unknown option -z"
    assert parser.parse(["7", "-n", "-3"], {}).n == -3
    assert parser.parse(["7", "-n3"], {}).n == 3


def test_a_value_that_is_none_of_the_choices_is_told_which_may_be_meant() -> None:
    parser = build("look", Verb())
    parser.add_argument("--how", choices=("fast", "slow"))
    error = refused(parser, "7", "--how", "fst")
    assert error.message == '--how: "fst" is not one of its values (did you mean fast?)'
    assert error.hint == "Write fast or slow. See inturn look --help"


def test_words_after_two_dashes_are_no_options(parser: Parser) -> None:
    assert parser.parse(["--", "--all", "--nope"], {}).jobs == ["--all", "--nope"]


def test_the_help_tells_all(parser: Parser) -> None:
    told = parser.format_help()
    for part in (
        "show 100 % of it",
        "100 % of them",
        "--dir PATH",
        "inturn look --all",
        "usage: inturn look",
    ):
        assert part in told


def test_building_a_parser_loads_nothing_just_to_measure_the_terminal() -> None:
    program = (
        "import sys; from inturn.cli.parser import build; from inturn.cli.verbs import cancel;"
        "build('cancel', cancel); print('shutil' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

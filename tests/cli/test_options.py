from __future__ import annotations

import argparse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inturn.cli.options import GLOBAL, Words, explain, split
from inturn.core.options import OPTIONS, switch
from inturn.errors import InturnError

TABLE = {**OPTIONS, **GLOBAL}

FLAGS = [switch(name) for name, option in TABLE.items() if option.kind == "flag" and name != "help"]
VALUED = [name for name, option in TABLE.items() if option.kind != "flag"]

words = st.lists(st.text(), max_size=5)
# A value that is an option by itself is taken for one, unless it is written with an equals sign.
harmless = st.text().filter(lambda text: not text.startswith("-"))
settings_in_words = st.lists(
    st.sampled_from(FLAGS).map(lambda flag: [flag])
    | st.tuples(st.sampled_from(VALUED), harmless).map(lambda pair: [switch(pair[0]), pair[1]])
    | st.tuples(st.sampled_from([name for name in VALUED if len(name) > 1]), st.text()).map(
        lambda pair: [f"{switch(pair[0])}={pair[1]}"]
    ),
    max_size=4,
).map(lambda groups: [word for group in groups for word in group])


def taken(*given_words: str) -> Words:
    return split(given_words, TABLE, "inturn run --help")


def refused(*given_words: str) -> InturnError:
    with pytest.raises(InturnError) as caught:
        taken(*given_words)
    assert caught.value.code == "usage"
    return caught.value


@settings(deadline=None)
@given(settings_in_words, words)
def test_whatever_follows_two_dashes_arrives_untouched(options: list[str], command: list[str]) -> None:
    assert taken(*options, "--", *command).command == command


@settings(deadline=None)
@given(settings_in_words, harmless, words)
def test_whatever_follows_the_first_word_of_the_command_arrives_untouched(
    options: list[str], program: str, arguments: list[str]
) -> None:
    found = taken(*options, program, *arguments)
    assert found == Words(taken(*options).values, [program, *arguments])


def test_options_of_the_command_are_the_commands() -> None:
    found = taken("--json", "tool", "--json", "--name", "x", "--", "-c", "--help")
    assert found == Words({"json": True}, ["tool", "--json", "--name", "x", "--", "-c", "--help"])


def test_only_the_first_two_dashes_end_the_options() -> None:
    assert taken("--", "--", "--name").command == ["--", "--name"]


def test_a_dash_alone_is_a_word() -> None:
    assert taken("-", "--json") == Words({}, ["-", "--json"])


def test_an_empty_word_is_a_word() -> None:
    assert taken("", "--json") == Words({}, ["", "--json"])


@pytest.mark.parametrize("form", [["--priority", "-5"], ["--priority=-5"]])
def test_a_value_may_be_negative_and_either_attached_or_not(form: list[str]) -> None:
    assert taken(*form, "true") == Words({"priority": "-5"}, ["true"])


def test_the_last_value_counts_unless_the_option_is_repeatable() -> None:
    found = taken("--name", "a", "--tag=x=1", "--name=b", "--tag", "y", "--json", "--json")
    assert found.values == {"name": "b", "tag": ["x=1", "y"], "json": True}


def test_a_value_may_be_empty_or_hold_anything() -> None:
    found = taken("--note=", "--env", "A=--json\n=", "-c", "a b", "--name=--json")
    assert found.values == {"note": "", "env": ["A=--json\n="], "c": "a b", "name": "--json"}


def test_nothing_is_understood_after_help() -> None:
    assert taken("--name", "a", "-h", "--colour").values == {"name": "a", "help": True}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("--prio", "--priority"),
        ("--retry-dela", "--retry-delay"),
        ("--after-succes", "--after-success"),
        ("--retires", "--retries"),
        ("--prio=5", "--priority"),
    ],
)
def test_an_abbreviation_is_unknown_but_understood_by_the_message(written: str, meant: str) -> None:
    assert refused(written, "5", "true").message == (
        f"unknown option {written.partition('=')[0]} (did you mean {meant}?)"
    )


@pytest.mark.parametrize("written", ["--colour", "-x", "-5", "-jc", "-ctrue", "---", "--=x"])
def test_an_option_that_does_not_exist_is_refused(written: str) -> None:
    error = refused(written, "true")
    assert error.message.startswith("unknown option ")
    assert error.hint == "All options: inturn run --help"


def test_a_switch_takes_no_value() -> None:
    assert refused("--merge-output=yes", "true").message == "--merge-output takes no value"


@pytest.mark.parametrize("rest", [[], ["--"], ["--json"], ["--retries=1"], ["-c", "x"]])
def test_an_option_is_not_taken_for_the_value_of_the_one_before(rest: list[str]) -> None:
    assert refused("--name", *rest).message.startswith("--name needs a value")


def test_the_help_explains_every_option_that_the_verb_has() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    explain(parser, "run", {})
    told = parser.format_help()
    for name, option in OPTIONS.items():
        assert (f"  {switch(name)} " in told or f"  {switch(name)}\n" in told) == (option.only in ("", "run"))

from __future__ import annotations

import re
from importlib import import_module

import pytest

from inturn.cli import help as pages
from inturn.cli.main import main
from inturn.cli.manual import Entry, Page, read
from inturn.cli.overview import overview
from inturn.cli.parser import build
from inturn.cli.verbs import VERBS
from inturn.core.options import GROUPS, OPTIONS, switch
from tests.e2e.harness import Cli
from tests.e2e.terminal import at_a_terminal

WIDTHS = (40, 63, 64, 80, 110)


def page(verb: str) -> Page:
    return read(build(verb, import_module(f"inturn.cli.verbs.{verb}")))


def drawn(shown: Page, width: int) -> str:
    return pages.render(shown, width, lambda _, text: text)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_that_begins_with_what_is_typed(verb: str) -> None:
    examples = page(verb).examples
    assert examples
    assert any(re.search(rf"\binturn (?:--\S+ \S+ )?{verb}\b", example) for example in examples)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_and_argument_is_explained(verb: str) -> None:
    told = drawn(page(verb), 80)
    for entry in page(verb).entries:
        assert entry.help
        assert entry.written in told


@pytest.mark.parametrize("verb", VERBS)
def test_every_example_is_understood_by_its_verb(verb: str) -> None:
    import shlex

    module = import_module(f"inturn.cli.verbs.{verb}")
    for example in page(verb).examples:
        words = shlex.split(example.removeprefix("source <(").rstrip(")"))
        words = words[: min((words.index(end) for end in (">", "|") if end in words), default=len(words))]
        rest = words[words.index(verb) + 1 :]
        if hasattr(module, "parse"):
            module.parse(rest, {})
        else:
            build(verb, module).parse(rest, {})


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("verb", VERBS)
def test_no_line_is_wider_than_the_terminal(verb: str, width: int) -> None:
    wide = [line for line in drawn(page(verb), width).splitlines() if len(line) > width]
    assert not wide


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_of_the_overview_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(line) <= width for line in drawn(overview(VERBS), width).splitlines())


@pytest.mark.parametrize("verb", ["run", "add"])
def test_the_options_of_a_submission_stand_in_their_groups(verb: str) -> None:
    told = drawn(page(verb), 80)
    headings = [f"\n{group} ({about}):\n" for group, about in GROUPS] + ["\nthen:\n", "\neverywhere:\n"]
    places = [told.index(heading) for heading in headings]
    assert places == sorted(places)
    for name, option in OPTIONS.items():
        if option.only in ("", verb):
            block = told[told.index(f"\n{option.group} (") :].split("\n\n")[0]
            assert re.search(rf"^  {switch(name)}\b", block, re.MULTILINE)


def test_a_long_example_is_folded_so_that_a_shell_takes_it_as_one() -> None:
    command = "inturn run --name x -c 'seq 1000 > data.txt' --retries 3 --retry-delay 10s"
    lines = list(pages.folded(command, 40, "  "))
    assert len(lines) > 1
    assert all(len(line) <= 40 for line in lines)
    joined = "\n".join(lines).replace("\\\n", " ")
    assert " ".join(joined.split()) == command


def test_what_may_be_repeated_says_so_once() -> None:
    def told(entry: Entry) -> str:
        return pages.explanation(entry)

    assert told(Entry(("--tag",), "tag", "KEY", "a tag", many=True)) == "a tag; repeatable"
    assert told(Entry(("--tag",), "tag", "KEY", "a tag; repeatable", many=True)) == "a tag; repeatable"
    assert told(Entry((), "job", "JOB", "a job", many=True)) == "a job"


# --- at a terminal


def displayed(cli: Cli, *words: str, columns: int = 80, **env: str) -> str:
    """What a command shows at a terminal so wide."""
    return at_a_terminal(cli, *words, columns=columns, env={"TERM": "xterm", **env}).check().text


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["help", "list"], ["wait", "-h"]])
def test_help_is_coloured_at_a_terminal_alone(words: list[str], cli: Cli) -> None:
    plain = cli.run(*words).check().text
    assert "\x1b" not in plain
    shown = displayed(cli, *words)
    assert "\x1b[1mexamples:\x1b[0m" in shown
    assert re.sub(r"\x1b\[\d*m", "", shown) == plain
    assert displayed(cli, *words, NO_COLOR="1") == plain
    assert displayed(cli, *words, TERM="dumb") == plain
    assert "\x1b" in displayed(cli, *words, NO_COLOR="")


def test_help_is_as_wide_as_the_terminal(cli: Cli) -> None:
    for columns in (40, 60, 100):
        shown = displayed(cli, "run", "--help", columns=columns, NO_COLOR="1")
        widest = max(map(len, shown.splitlines()))
        assert columns - 8 <= widest <= columns
    assert max(map(len, displayed(cli, "run", "-h", columns=300, NO_COLOR="1").splitlines())) <= pages.WIDEST
    assert max(map(len, displayed(cli, "run", "-h", columns=9, NO_COLOR="1").splitlines())) <= pages.NARROWEST


def test_the_environment_may_name_the_width(cli: Cli) -> None:
    told = cli.run("run", "--help", env={"COLUMNS": "50"}).check().text
    assert 40 < max(map(len, told.splitlines())) <= 50
    for nonsense in ("wide", "", "-3"):
        assert cli.run("run", "--help", env={"COLUMNS": nonsense}).check().text


# --- what was meant


def misspelt(word: str) -> str:
    """The word with its last letter doubled: nothing that exists, and no beginning of it."""
    return word + word[-1]


def refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    told = capsys.readouterr()
    assert not told.out
    return told.err.splitlines()[0]


@pytest.mark.parametrize("verb", VERBS)
def test_a_misspelt_verb_is_told_what_was_meant(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = misspelt(verb)
    assert refusal([wrong], capsys) == f"inturn: unknown verb {wrong} (did you mean {verb}?)"
    assert refusal(["help", wrong], capsys) == f"inturn: unknown verb {wrong} (did you mean {verb}?)"


@pytest.mark.parametrize("verb", VERBS)
def test_a_misspelt_option_is_told_what_was_meant(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for entry in page(verb).entries:
        for option in entry.switches:
            if option.startswith("--"):
                wrong = misspelt(option)
                told = refusal([verb, wrong], capsys)
                assert told == f"inturn: unknown option {wrong} (did you mean {option}?)"


@pytest.mark.parametrize("verb", VERBS)
def test_a_short_option_that_does_not_exist_is_named(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal([verb, "-Z"], capsys).startswith("inturn: unknown option -Z")


@pytest.mark.parametrize("verb", VERBS)
def test_a_misspelt_choice_is_told_what_was_meant(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for entry in page(verb).entries:
        for choice in entry.choices:
            wrong = misspelt(choice)
            told = refusal([verb, *entry.switches[-1:], wrong], capsys)
            assert f'"{wrong}" is not one of its values (did you mean {choice}?)' in told


def test_an_option_of_another_verb_is_told_where_it_belongs(capsys: pytest.CaptureFixture[str]) -> None:
    for words, verbs in (
        (["status", "--queue", "x"], "inturn add has"),
        (["--retries", "3", "run", "true"], "inturn run and inturn add have"),
        (["list", "--retries", "3"], "inturn run and inturn add have"),
    ):
        assert main(words) == 2
        assert f"hint: {verbs} it, behind the verb. " in capsys.readouterr().err


def test_a_value_that_looks_like_an_option_may_still_be_one(cli: Cli) -> None:
    cli.run("add", "--after", "1h", "--", "true").check()
    cli.run("edit", 1, "--priority", "-5", "--note", "-x y").check()
    assert cli.show(1)["priority"] == -5

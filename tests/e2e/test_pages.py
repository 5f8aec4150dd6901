"""Whoever copies the commands of a page of the documentation into a shell gets what the page says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from inturn.cli.parser import build
from inturn.cli.verbs import ALIASES, VERBS
from tests.e2e.harness import Cli
from tests.e2e.tour import clean_up, follow, left_behind
from tests.pages import DOCS, PAGES, README, Block, blocks, named, promised

# Blocks in these languages are not run: data, pictures, what is printed, and commands of other programs.
SHOWN = frozenset(("", "text", "console", "json", "yaml", "python", "mermaid"))
RUN = [page for page in PAGES if page != README and blocks(page, "sh")]


@pytest.fixture
def home(cli: Cli) -> Iterator[Cli]:
    """A place for a page, in which it may make as many stores as it likes."""
    yield cli
    clean_up(cli.root)


@pytest.mark.parametrize("page", RUN, ids=named)
def test_the_commands_of_a_page_print_what_it_says_and_leave_nothing_behind(page: Path, home: Cli) -> None:
    printed = follow(page, home)
    rest = iter([line.split() for line in printed.splitlines()])
    # Each is looked for behind the one before: their order counts, and what else is printed does not.
    for promise in promised(blocks(page, "sh")):
        assert promise.split() in rest, f"{named(page)} promises {promise!r}, in this place, of:\n{printed}"
    assert not left_behind(home.root)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_of_a_page_is_either_run_or_of_a_kind_that_is_only_shown(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= SHOWN | {"sh"}
    # One that hides in a quotation or a list is no block to whoever collects them, and would not be run.
    fences = re.findall(r"^[\s>*+\d.-]*(?:```|~~~)\s*sh\b", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == len(blocks(page, "sh"))


def test_the_pages_that_show_how_something_is_done_do_so_with_commands_that_are_run() -> None:
    howto = [page for page in PAGES if page.parent.name == "howto" and page.name != "index.md"]
    assert len(howto) > 10
    guides = [README, DOCS / "index.md", DOCS / "tutorial.md", *howto]
    assert not [named(page) for page in guides if not blocks(page, "sh")]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_of_inturn_that_are_only_shown_would_be_understood(page: Path) -> None:
    for block in blocks(page, "console"):
        for words in _commands(block):
            verb = ALIASES.get(words[1], words[1])
            assert verb in VERBS, f"{block.where}: {words}"
            module = import_module(f"inturn.cli.verbs.{verb}")
            getattr(module, "parse", build(verb, module).parse)(words[2:], {})


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_page_speaks_of_an_option_that_its_verb_does_not_have(page: Path) -> None:
    wrong = [
        (code, option)
        for code in re.findall(r"(?<!`)`(inturn [a-z][^`]*)`(?!`)", page.read_text(encoding="utf-8"))
        for verb, option in _options(code.split())
        if option.strip(";,:.") not in _known(verb)
    ]
    assert not wrong


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    verb = ALIASES.get(words[1], words[1])
    own = words[2 : words.index("--")] if "--" in words else words[2:]
    if verb in VERBS:
        yield from ((verb, word.partition("=")[0]) for word in own if word.startswith("-") and len(word) > 1)


def _known(verb: str) -> set[str]:
    parser = build(verb, import_module(f"inturn.cli.verbs.{verb}"))
    return {option for action in parser._actions for option in action.option_strings}


def _commands(block: Block) -> Iterator[list[str]]:
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] == ["inturn"] and len(words) > 1 and not words[1].startswith("-"):
            yield words

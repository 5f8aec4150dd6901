"""The documentation names everything there is, and nothing that there is not."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from inturn.cli.ending import EXIT_CODES, FAILED
from inturn.cli.parser import build
from inturn.cli.verbs import ALIASES, VERBS
from inturn.config import load
from inturn.core.environment import OWN_VARIABLES
from inturn.core.job import OUTCOMES, PHASES
from inturn.errors import CODES
from tests.arch.sources import ROOT, modules, parse
from tests.pages import DOCS, PAGES, blocks
from tools.state_diagram import DOCUMENT, redrawn


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_its_section(verb: str) -> None:
    assert re.search(rf"^#+ .*`inturn {verb}\b", _read(DOCS / "cli.md"), re.MULTILINE)


def test_no_page_shows_a_verb_that_does_not_exist() -> None:
    shown = {
        (page.name, verb)
        for page in PAGES
        for code in (*_shown(page), *re.findall(r"(?<!`)`([^`\n]+)`", _read(page)))
        for verb in re.findall(r"(?:^|[;&|(]) *inturn ([a-z]+)\b", code, re.MULTILINE)
    }
    assert ("README.md", "run") in shown
    assert not {(page, verb) for page, verb in shown if verb not in (*VERBS, *ALIASES)}


def _shown(page: Path) -> list[str]:
    return [block.text for block in blocks(page, "", "sh")]


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_is_explained(verb: str) -> None:
    parser = build(verb, import_module(f"inturn.cli.verbs.{verb}"))
    options = {option for action in parser._actions for option in action.option_strings}
    page = _read(DOCS / "cli.md")
    assert not {option for option in options if not re.search(rf"`(?:[^`]* )?{option}\b[^`]*`", page)}


def test_every_error_code_has_its_row_with_its_exit_code_and_there_are_no_others() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (\d) \|", _read(DOCS / "errors.md"), re.MULTILINE)
    assert {code: int(status) for code, status in rows} == {
        code: EXIT_CODES.get(code, FAILED) for code in CODES
    }


def test_every_key_of_the_configuration_file_is_explained() -> None:
    page = _read(DOCS / "configuration.md")
    keys = _configuration_keys()
    assert "max_active_slots" in keys
    assert not [key for key in keys if not re.search(rf"^\| `(?:\w+\.)*{key}[.`]", page, re.MULTILINE)]


def _configuration_keys() -> set[str]:
    """Collect the words of every tuple of allowed keys in `inturn.config`: `mapping(node, ("slots", …))`."""
    return {
        word
        for _, path in modules("inturn.config")
        for call in ast.walk(parse(path))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("mapping")
        for allowed in call.args[1:]
        for word in ast.literal_eval(allowed)
    }


def test_every_configuration_file_that_is_shown_is_valid(tmp_path: Path) -> None:
    shown = [block.text for page in PAGES for block in blocks(page, "yaml")]
    assert shown
    for block in shown:
        file = tmp_path / "inturn.yml"
        file.write_text(block, encoding="utf-8")
        load(str(file))


@pytest.mark.parametrize("variable", [name.decode() for name in OWN_VARIABLES])
def test_every_variable_that_a_run_gets_is_explained(variable: str) -> None:
    assert re.search(rf"^\| .*`{variable}`.* \|", _read(DOCS / "configuration.md"), re.MULTILINE)


@pytest.mark.parametrize("word", [*PHASES, *OUTCOMES])
def test_every_phase_and_outcome_is_explained(word: str) -> None:
    assert re.search(rf"[`*]{word}[`*]", _read(DOCS / "architecture.md") + _read(DOCS / "cli.md"))


def test_the_state_machine_is_drawn_as_it_is() -> None:
    page = _read(DOCUMENT)
    assert redrawn(page) == page, "run `make diagram`"


def test_every_link_to_a_file_leads_somewhere() -> None:
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", _read(page))
        if not (page.parent / target).exists()
    ]
    assert not dead

"""The site has every page, those that a tool writes included."""

from __future__ import annotations

import re

import pytest

from inturn.cli.schemas import names
from inturn.cli.verbs import VERBS
from tests.arch.sources import ROOT
from tests.pages import DOCS
from tools.site_pages import pages

WRITTEN = pages()
MENU = re.findall(r"([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_menu_has_every_page_once_and_no_other() -> None:
    assert sorted(MENU) == sorted({*WRITTEN, *(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))})


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_is_in_the_site_as_it_is_printed(verb: str) -> None:
    section = WRITTEN["help.md"].partition(f"## `inturn {verb}`\n")[2].partition("\n## ")[0]
    assert re.search(rf"^usage: inturn {verb}\b", section, re.MULTILINE)
    assert "\nexamples:\n" in section


def test_every_schema_is_in_the_site() -> None:
    sections = set(re.findall(r"^## `(.*)`$", WRITTEN["schema.md"], re.MULTILINE))
    assert {f"inturn {name}" for name in names() if name in VERBS} <= sections
    assert {"from-file-line", "event-line", "job", "run"} <= sections

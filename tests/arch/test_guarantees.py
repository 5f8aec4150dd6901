"""What the documentation promises is tested: every test that it names is there."""

from __future__ import annotations

import ast
import re

import pytest

from tests.arch.sources import ROOT, parse

PAGES = ("guarantees.md", "security.md", "crash-points.md")

_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def _named(page: str) -> list[tuple[str, str]]:
    return _TEST.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    named = _named(page)
    assert named
    missing = [f"{file}::{name}" for file, name in named if not _exists(file, name)]
    assert not missing, missing


def _exists(file: str, name: str) -> bool:
    path = ROOT / file
    if not path.exists():
        return False
    functions = {node.name for node in parse(path).body if isinstance(node, ast.FunctionDef)}
    return not name or name in functions


def test_every_guarantee_has_its_means_its_tests_and_its_limit() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    promises = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    assert len(promises) > 10
    for promise in promises:
        title, _, text = promise.partition("\n")
        for part in ("*How.*", "*Shown by*", "*Where it ends.*"):
            assert text.count(part) == 1, f"{title}: {part}"
        assert _TEST.search(text.partition("*Shown by*")[2].partition("*Where")[0]), title

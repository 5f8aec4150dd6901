"""Whoever types the examples of the manual's page on Python sees what it says."""

from __future__ import annotations

import pytest

from tests.e2e.harness import Cli
from tests.pages import DOCS, blocks, promised

PAGE = DOCS / "python.md"


def test_the_examples_of_the_page_run_in_their_order_and_print_what_it_says(
    home: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = blocks(PAGE, "python")
    promises = promised(examples)
    assert len(promises) > 10
    namespace: dict[str, object] = {"__name__": "examples"}
    for example in examples:
        exec(compile(example.text, str(PAGE), "exec"), namespace)
    assert capsys.readouterr().out.splitlines() == promises

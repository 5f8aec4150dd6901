"""Whoever types the examples of the manual's page on Python sees what it says."""

from __future__ import annotations

import re

import pytest

from tests.arch.sources import ROOT
from tests.e2e.harness import Cli

PAGE = ROOT / "docs" / "python.md"


def test_the_examples_of_the_page_run_in_their_order_and_print_what_it_says(
    home: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    promised = re.findall(r"# -> (.*)$", "".join(blocks), re.MULTILINE)
    assert len(promised) > 10
    namespace: dict[str, object] = {"__name__": "examples"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert capsys.readouterr().out.splitlines() == promised

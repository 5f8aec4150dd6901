"""Neighbours are measured if they are there, and left out or asked for if they are not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.install import commands
from bench.tools import NEIGHBOURS
from tests.arch.sources import ROOT


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_each_neighbour_is_installed_by_the_packager_that_has_it() -> None:
    debian, *_, pypi = commands(NEIGHBOURS)
    assert debian[-2:] == ["task-spooler", "nq"]
    assert "apt-get" in debian
    assert pypi[-2:] == ["huey", "spoolctl"]
    assert commands([]) == []


@pytest.mark.parametrize(
    "words",
    [
        ("no-such-scenario",),
        ("--rounds", "0"),
        ("--tool", "make"),
        ("--install", "make"),
    ],
    ids=" ".join,
)
def test_what_there_is_not_is_refused_before_anything_is_measured(words: tuple[str, ...]) -> None:
    done = bench(*words)
    assert done.returncode == 2
    assert "error:" in done.stderr


def test_a_page_without_a_place_for_the_tables_is_refused_before_anything_is_measured() -> None:
    done = bench("--write", "README.md")
    assert done.returncode == 1
    assert done.stderr.startswith("bench: the page has no place for tables")

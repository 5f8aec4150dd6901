"""The project stands on its own: no path of somebody's machine in it, and nothing left for later."""

from __future__ import annotations

import re

from tests.arch.sources import ROOT, SRC, project_files

# Written in pieces, so that this file does not accuse itself.
_MACHINE_PATHS = re.compile("/wo" + r"rk/|/ro" + r"ot/")
_LEFT_FOR_LATER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b")
_NOT_BUILT = re.compile(r"\bNotImplement" + r"edError\b")


def _lines_that_match(pattern: re.Pattern[str], under: str = "") -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in project_files()
        if str(path).startswith(under)
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    assert not (found := _lines_that_match(_MACHINE_PATHS)), found


def test_nothing_is_marked_as_left_for_later() -> None:
    assert not (found := _lines_that_match(_LEFT_FOR_LATER)), found


def test_nothing_in_the_package_only_promises_to_be_built() -> None:
    assert not (found := _lines_that_match(_NOT_BUILT, under=str(SRC))), found

"""Putting the tables into a page, between two markers."""

from __future__ import annotations

from typing import NamedTuple

BEGIN = "<!-- Filled in by `python -m bench --write FILE`. -->"
END = "<!-- End of what is filled in. -->"


class Marks(NamedTuple):
    """The comments between which tables stand."""

    begin: str = BEGIN
    end: str = END


TABLES = Marks()


def filled(page: str, tables: str, marks: Marks = TABLES) -> str:
    """The page with these tables between its markers; raises ValueError if it has none."""
    before, begin, rest = page.partition(marks.begin)
    _, end, after = rest.partition(marks.end)
    if not begin or not end:
        raise ValueError(f"the page has no place for tables: {marks.begin} … {marks.end}")
    return f"{before}{begin}\n\n{tables}\n{end}{after}"


def check(path: str, marks: Marks = TABLES) -> None:
    """Raises ValueError if the page in a file has no place for tables, or OSError: before they are made."""
    with open(path, encoding="utf-8") as file:
        filled(file.read(), "", marks)


def write(path: str, tables: str, marks: Marks = TABLES) -> None:
    """Fill the page in a file. Raises ValueError if it has no place for that, or OSError."""
    with open(path, encoding="utf-8") as file:
        page = filled(file.read(), tables, marks)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)

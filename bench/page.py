"""Putting the tables into a page, between two markers."""

from __future__ import annotations

BEGIN = "<!-- Filled in by `python -m bench --write FILE`. -->"
END = "<!-- End of what is filled in. -->"


def filled(page: str, tables: str) -> str:
    """The page with these tables between its markers; raises ValueError if it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for tables: {BEGIN} … {END}")
    return f"{before}{begin}\n\n{tables}\n{end}{after}"


def write(path: str, tables: str) -> None:
    """Fill the page in a file. Raises ValueError if it has no place for that, or OSError."""
    with open(path, encoding="utf-8") as file:
        page = filled(file.read(), tables)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)

"""Statements that hold on a newer schema too: within a major version columns are added."""

from __future__ import annotations

import re

from tests.arch.sources import modules, shown

# Temporary tables belong to the one connection that makes them.
_INSERTED_INTO = re.compile(r"\bINSERT\b(?: OR \w+)? INTO\s+(?!temp\.)(\{?\w+\}?)\s*(\(?)")


def test_every_insert_names_its_columns() -> None:
    found = [
        (shown(path), table, columns)
        for _, path in modules("inturn.store")
        for table, columns in _INSERTED_INTO.findall(path.read_text(encoding="utf-8"))
    ]
    assert len({table for _, table, _ in found}) > 5
    assert not [(where, table) for where, table, columns in found if not columns]


def test_no_row_is_replaced_as_a_whole() -> None:
    guilty = [
        shown(path)
        for _, path in modules("inturn.store")
        if re.search(r"\bREPLACE\s+INTO\b", path.read_text(encoding="utf-8"))
    ]
    assert not guilty, "it would lose what a newer schema keeps in that row; use ON CONFLICT DO UPDATE"


def test_no_query_takes_whatever_columns_there_are() -> None:
    guilty = [
        shown(path)
        for _, path in modules("inturn.store")
        if re.search(r"SELECT\s+(?:\w+\.)?\*", path.read_text(encoding="utf-8"))
    ]
    assert not guilty

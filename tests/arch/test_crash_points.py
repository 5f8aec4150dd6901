"""Every crash point is in the code, in the list and on the page, and no write transaction is without them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from inturn.core.transitions import TABLE
from inturn.host.crash_points import COMMITS, POINTS
from tests.arch.sources import ROOT, SRC, modules, parse, shown

PAGE = ROOT / "docs" / "crash-points.md"

# What is undone in any case: a dry run.
WITHOUT_POINTS = {SRC / "inturn" / "service" / "preview.py"}


def _calls(function: str) -> Iterator[tuple[Path, ast.Call]]:
    for _, path in modules():
        for node in ast.walk(parse(path)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="faults"), attr=attr)) if attr == function:
                    yield path, node


def _named(call: ast.Call) -> tuple[str, bool]:
    """The name in a call, and whether it is only how the name begins."""
    match call.args:
        case [ast.Constant(value=str(name)), _, _]:
            return name + ".", True
        case [ast.Constant(value=str(name)), *_]:
            return name, False
        case [ast.BinOp(left=ast.Constant(value=str(name)))]:
            return name, True
    raise AssertionError(f"a name that cannot be read: {ast.unparse(call)}")


def _known(names: tuple[str, ...], call: ast.Call, path: Path) -> set[str]:
    name, begins = _named(call)
    found = {one for one in names if (one.startswith(name) if begins else one == name)}
    assert found, f"{shown(path, call)}: {name!r} is not in the list"
    return found


def test_every_point_is_somewhere_in_the_code_and_there_are_no_others() -> None:
    acts = {name for path, call in _calls("point") for name in _known(POINTS, call, path)}
    commits = {name for path, call in _calls("commit") for name in _known(COMMITS, call, path)}
    passed = acts | {f"{name}.{when}" for name in commits for when in ("commit", "committed")}
    assert passed == set(POINTS)
    assert len(set(POINTS)) == len(POINTS)


def test_what_owners_commit_of_their_jobs_are_events_of_the_state_machine() -> None:
    assert {name.removeprefix("task.") for name in COMMITS if name.startswith("task.")} <= set(TABLE)


def test_no_write_transaction_outside_the_store_is_without_its_points() -> None:
    transactions = [
        (shown(path, node), ast.unparse(item.context_expr))
        for _, path in modules()
        if path not in WITHOUT_POINTS and path.parent.name != "store"
        for node in ast.walk(parse(path))
        if isinstance(node, ast.With)
        for item in node.items
        if ".writing(" in ast.unparse(item.context_expr)
    ]
    assert transactions
    bare = [where for where, text in transactions if not text.startswith("faults.commit(")]
    assert not bare, f"wrap these in faults.commit(NAME, …): {bare}"


def test_the_page_tells_of_every_point_once_and_of_no_other() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    told = [name for row in rows for name in re.findall(r"`([a-z_.]+)`", row.split("|")[1])]
    assert sorted(told) == sorted(POINTS)

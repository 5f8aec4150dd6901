"""The core decides and the rest acts: nothing in `core/` can read a clock, open a file or start a process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.arch.sources import imported, modules, parse, shown

# The core computes with what it is handed. What it may need for that is here; a longer list wants a reason.
# `_collections` has the attributes of named tuples, and is always there: see core/records.py.
CORE_MAY_IMPORT = frozenset(
    "__future__ _collections binascii bisect collections datetime fractions heapq inturn itertools json math"
    " operator shlex typing".split()
)

# Of some modules it may have a part: conversions of an instant it was handed, and tables of names.
CORE_MAY_CALL = frozenset({"time.gmtime", "time.localtime", "signal.Signals", "signal.valid_signals"})

# Wait conditions look at the world through `os` alone; processes and SQL are other packages' business.
CONDITIONS_MAY_NOT_IMPORT = frozenset(
    "apsw fcntl multiprocessing random signal socket sqlite3 threading".split()
)

_REACHES_OUT = frozenset("open print input exec eval breakpoint __import__".split())
_CLOCKS = frozenset("now today utcnow time time_ns monotonic monotonic_ns".split())
_CLOCKS_WITHOUT_ARGUMENT = frozenset("gmtime localtime".split())


def test_the_core_imports_nothing_that_can_reach_out() -> None:
    partly = {name.split(".")[0] for name in CORE_MAY_CALL}
    guilty = [
        f"{shown(path, node)}: {name}"
        for _, path in modules("inturn.core")
        for node, name in imported(parse(path))
        if name.split(".")[0] not in CORE_MAY_IMPORT | partly
    ]
    assert not guilty, guilty


def test_the_core_takes_only_the_harmless_part_of_a_module_that_has_another() -> None:
    partly = {name.split(".")[0] for name in CORE_MAY_CALL}
    guilty = [
        f"{shown(path, node)}: {name}"
        for _, path in modules("inturn.core")
        for node, name in _taken(parse(path))
        if name.split(".")[0] in partly and name not in CORE_MAY_CALL
    ]
    assert not guilty, guilty


def test_the_core_asks_no_clock_and_opens_nothing() -> None:
    guilty = [
        f"{shown(path, call)}: {name}()"
        for _, path in modules("inturn.core")
        for call, name in _calls(parse(path))
        if name in _REACHES_OUT
        or ("." in name and name.rsplit(".", 1)[1] in _CLOCKS)
        or (name.rsplit(".", 1)[-1] in _CLOCKS_WITHOUT_ARGUMENT and not call.args)
    ]
    assert not guilty, f"hand in the time and what was observed: {guilty}"


def test_a_condition_signals_nobody_and_speaks_no_sql() -> None:
    guilty = [
        f"{shown(path, node)}: {name}"
        for _, path in modules("inturn.conditions")
        for node, name in imported(parse(path))
        if name.split(".")[0] in CONDITIONS_MAY_NOT_IMPORT
    ]
    assert not guilty, guilty


def _taken(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield what a module takes from others: `from a import b` and `a.b` are both `a.b`."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    yield node, f"{module}.{alias.name}"
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                yield node, f"{owner}.{name}"


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Yield each call with its name: `open` for a plain one, `datetime.now` for one on a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name):
                    yield node, name
                case ast.Attribute(value=ast.Name(id=owner), attr=name):
                    yield node, f"{owner}.{name}"
                case ast.Attribute(value=ast.Attribute(attr=owner), attr=name):
                    yield node, f"{owner}.{name}"

"""Whoever calls something public finds there what it promises."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.arch.sources import modules, parse, shown

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_every_module_class_and_function_that_is_public_says_what_it_is_for() -> None:
    silent = [
        f"{shown(path, node)}: {getattr(node, 'name', 'the module')}"
        for _, path in modules()
        for node in _public(parse(path))
        if not ast.get_docstring(node)
    ]
    assert not silent, silent


def _public(tree: ast.Module) -> Iterator[Documented]:
    yield tree
    for node in tree.body:
        if isinstance(
            node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and not node.name.startswith("_"):
            yield node

"""The repository as these tests read it: its files, and the syntax trees of its modules."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"

# What a build, a tool or an editor leaves behind: no part of the project.
_LEFT_BEHIND = frozenset(
    {
        ".git",
        ".venv",
        ".bench-venv",
        ".demo",
        "build",
        "dist",
        "site",
        "__pycache__",
        ".hypothesis",
        ".idea",
        ".vscode",
    }
)


def project_files() -> Iterator[Path]:
    """Yield every file of the project, in a fixed order."""
    for directory, subdirectories, names in os.walk(ROOT):
        subdirectories[:] = sorted(
            name
            for name in subdirectories
            if name not in _LEFT_BEHIND and not name.endswith(("_cache", ".egg-info"))
        )
        for name in sorted(names):
            if not name.startswith(".coverage"):
                yield Path(directory, name)


def modules(package: str = "inturn") -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and the file of every module in `package`, itself included."""
    top = SRC.joinpath(*package.split("."))
    if not top.is_dir():
        yield package, top.with_suffix(".py")
        return
    for path in sorted(top.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def shown(path: Path, node: ast.AST | None = None) -> str:
    """Return where something is, as an editor understands it."""
    line = getattr(node, "lineno", None)
    return f"{path.relative_to(ROOT)}:{line}" if line else str(path.relative_to(ROOT))


def imported(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each import in a tree with the dotted name that it brings in, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node, node.module or ""


def statements_at_import(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield what runs when the module is imported, except under `if TYPE_CHECKING`, which never does."""
    waiting: list[ast.stmt] = list(reversed(tree.body))
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, ast.If) and _is_type_checking(statement.test):
            waiting.extend(reversed(statement.orelse))
            continue
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.ClassDef):
            for block in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(statement, block, ()):
                    waiting.extend(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"

"""What import-linter cannot see: the imports of the tests, and what importing costs at start-up."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.arch.sources import ROOT, SRC, imported, modules, parse, shown, statements_at_import

# What a submission and a waiting supervisor load. Each of the HEAVY costs every one of them milliseconds or
# a megabyte; docs/adr/0004 has the numbers.
LIGHT_PACKAGES = (
    "inturn.errors",
    "inturn.core",
    "inturn.conditions",
    "inturn.store",
    "inturn.host",
    "inturn.engines",
    "inturn.owners",
    "inturn.service.submit",
)
HEAVY = frozenset(
    "contextlib dataclasses datetime enum functools hashlib json logging pathlib random re rich ruamel"
    " secrets shutil subprocess tempfile typing uuid zlib".split()
)


def _existing_light_modules() -> list[str]:
    return [name for package in LIGHT_PACKAGES for name, path in modules(package) if path.exists()]


def test_nobody_imports_the_standard_sqlite3_not_even_a_test() -> None:
    guilty = [
        shown(path, node)
        for top in (SRC, ROOT / "tests")
        for path in sorted(top.rglob("*.py"))
        for node, name in imported(parse(path))
        if name.split(".")[0] == "sqlite3"
    ]
    assert not guilty, f"two SQLite libraries in one process lose data silently: {guilty}"


def test_only_the_store_names_apsw() -> None:
    # The composition root may ask where it is installed, to tell the supervisors.
    allowed = ("inturn.store", "inturn.app")
    guilty = [
        shown(path, node)
        for module, path in modules()
        if not module.startswith(allowed)
        for node, name in imported(parse(path))
        if name.split(".")[0] == "apsw"
    ]
    assert not guilty, guilty


def test_no_module_of_a_submission_or_a_supervisor_imports_something_heavy_on_top() -> None:
    guilty = [
        f"{shown(path, statement)}: {name}"
        for package in LIGHT_PACKAGES
        for _, path in modules(package)
        if path.exists()
        for statement in statements_at_import(parse(path))
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for _, name in imported(statement)
        if name.split(".")[0] in HEAVY
    ]
    assert not guilty, f"import these inside the function that needs them: {guilty}"


@pytest.mark.parametrize("module", _existing_light_modules())
def test_importing_a_light_module_loads_nothing_heavy(module: str) -> None:
    site = [path for path in sys.path if path.endswith("site-packages")]
    program = (
        f"import sys; sys.path += {[str(SRC), *site]!r}\n"
        f"before = set(sys.modules)\nimport {module}\n"
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(done.stdout.split())

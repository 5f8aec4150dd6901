"""The package is the Python API, and costs those nothing who only want a part of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import inturn
from inturn import api
from inturn.api.options import AddLine, AddOptions, RunLine, RunOptions
from inturn.core.lines import OWN_KEYS
from inturn.core.options import OPTIONS
from inturn.errors import InturnError
from tests.arch.sources import SRC


def loaded_by(statement: str) -> set[str]:
    program = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(SRC)!r}); {program}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import inturn", "from inturn import __version__"])
def test_importing_the_package_loads_nothing_else(statement: str) -> None:
    assert loaded_by(statement) <= {"inturn", "__future__"}


def test_an_error_can_be_named_without_the_rest() -> None:
    assert loaded_by("import inturn; inturn.InturnError") <= {"inturn", "inturn.errors", "__future__"}


@pytest.mark.parametrize("name", inturn.__all__)
def test_every_name_of_the_package_is_there(name: str) -> None:
    assert getattr(inturn, name) is not None
    assert name in dir(inturn)


def test_the_names_of_the_package_are_those_of_the_api() -> None:
    assert {*inturn.__all__} == {*api.__all__, "InturnError", "__version__"}
    assert inturn.InturnError is InturnError


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        inturn.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_the_keyword_arguments_are_the_options_of_the_command_line() -> None:
    assert {*AddOptions.__annotations__} == {*OPTIONS}
    assert {*RunOptions.__annotations__} == {name for name, it in OPTIONS.items() if it.only in ("", "run")}
    assert {*RunLine.__annotations__} == {*RunOptions.__annotations__, *OWN_KEYS}
    assert {*AddLine.__annotations__} == {*AddOptions.__annotations__, *OWN_KEYS}


def test_type_checkers_are_told_that_the_package_has_types() -> None:
    assert (SRC / "inturn" / "py.typed").exists()

from __future__ import annotations

import math
import signal
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from inturn.api.values import line, microseconds
from inturn.errors import InturnError


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("after", 90, 90),
        ("after", "1h30m", "1h30m"),
        ("after", timedelta(minutes=90, microseconds=5), "1h30m0.000005s"),
        ("after", 0.00001, "0.000010"),
        ("at", datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))), "1893492000.000000"),
        ("at", datetime(1950, 1, 1, tzinfo=UTC), "0.000000"),
        ("at", datetime(2030, 1, 1, 12), "2030-01-01T12:00:00"),
        ("at", date(2030, 1, 1), "2030-01-01"),
        ("at", 1893492000.5, "1893492000.500000"),
        ("cwd", Path("/tmp"), "/tmp"),
        ("cwd", b"/\xff", "/\udcff"),
        ("env", {"A": "1", "B": ""}, ["A=1", "B="]),
        ("env", "A=1", ["A=1"]),
        ("tag", {"project": "x", "urgent": None}, ["project=x", "urgent"]),
        ("after_success", 7, [7]),
        ("after_success", (7, "name"), [7, "name"]),
        ("after_outcome", {7: "failure", "name": ["lost", "aborted"]}, ["7=failure", "name=lost,aborted"]),
        ("retryable_exit_code", range(1, 3), [1, 2]),
        ("retry_signal", signal.SIGTERM, [15]),
        ("merge_output", True, True),
        ("command", ["a", b"\xff", Path("b")], ["a", "\udcff", "b"]),
        ("array", range(1, 5), "1-4"),
        ("array", [1, 3], "1,3"),
        ("array", "1-4%2", "1-4%2"),
    ],
)
def test_values_of_python_become_those_of_a_line(name: str, value: object, plain: object) -> None:
    assert line({name: value}, "/store") == {name: plain}


def test_none_is_as_good_as_nothing() -> None:
    assert line({"name": None, "after_success": None, "command": None}, "/store") == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [("command", "make test"), ("command", [1]), ("command", 7), ("name", object()), ("env", [["A", "1"]])],
)
def test_what_has_no_meaning_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(InturnError, match=name) as caught:
        line({name: value}, "/store")
    assert caught.value.code == "invalid_value"


@pytest.mark.parametrize("value", [-1, "soon", math.nan, math.inf, timedelta(seconds=-1), object()])
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(InturnError, match="timeout") as caught:
        microseconds("timeout", value)
    assert caught.value.code == "invalid_value"


def test_a_duration_is_exact() -> None:
    assert microseconds("timeout", timedelta(days=1, microseconds=1)) == 86_400_000_001
    assert microseconds("timeout", 0.1) == 100_000
    assert microseconds("timeout", None) is None

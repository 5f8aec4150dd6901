from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.cli import lines
from inturn.core.reasons import Reason
from inturn.core.views import Holder, LedgerEntry, Scope, View
from tests.builders import START, ended, make_job, make_run


def _columns(line: str) -> list[str]:
    return line.split("\t")


def _job(argv: tuple[bytes, ...] = (b"true",), phase: str = "completed", **fields: Any) -> dict[str, str]:
    job = make_job(phase, **fields)
    run = ended(make_run(job), "failure", exit_code=3)
    line = lines.job(View(job, argv, (run,) if phase == "completed" else ()))
    return dict(zip(lines.JOB_COLUMNS, _columns(line), strict=True))


def test_a_job_has_its_documented_columns() -> None:
    assert _job((b"sh", b"-c", b"echo a b"), name="x", pool="p", queue="q", priority=-1, slots=2) == {
        "id": "7",
        "status": "success",
        "name": "x",
        "queue": "q",
        "pool": "p",
        "slots": "2",
        "priority": "-1",
        "attempts": "0",
        "exit": "3",
        "submitted": "2027-01-15T08:00:00Z",
        "started": "-",
        "completed": "2027-01-15T08:00:00Z",
        "command": "sh -c 'echo a b'",
    }


def test_what_there_is_not_is_a_dash() -> None:
    job = _job(phase="queued")
    assert [job[column] for column in ("name", "queue", "pool", "exit", "completed")] == ["-"] * 5


@given(st.text(min_size=1), st.lists(st.binary(min_size=1), min_size=1))
def test_no_value_breaks_a_line_or_a_column(name: str, argv: list[bytes]) -> None:
    line = lines.job(View(make_job(name=name), tuple(argv)))
    assert len(_columns(line)) == len(lines.JOB_COLUMNS)
    assert len(line.splitlines()) == 1
    line.encode()


def test_a_command_that_is_not_utf8_is_shown_with_escapes() -> None:
    assert _job((b"printf", b"a\xff"))["command"] == "printf 'a\\xff'"


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (None, None),
        (make_run(), None),
        (ended(make_run(), "failure", exit_code=0), "0"),
        (ended(make_run(), "failure", signal=9), "SIGKILL"),
    ],
)
def test_how_a_run_ended_is_its_code_or_its_signal(run: Any, told: str | None) -> None:
    assert lines.how_it_ended(run) == told


def test_an_event_has_its_documented_columns() -> None:
    entry = LedgerEntry(9, 7, START.wall, "submitted", None, "waiting", None, None)
    assert _columns(lines.event(entry)) == [
        *("9", "2027-01-15T08:00:00Z", "7", "-", "waiting", "submitted", "-", "-")
    ]


def test_a_capacity_tells_who_holds_it() -> None:
    holders = tuple(Holder(job, None, job, "p", "", 1, "", START.wall) for job in (1, 2))
    assert _columns(lines.scope(Scope("p", 4, True, 3, 2, holders, paused=True))) == [
        *("p", "4", "3", "1", "2", "1:1,2:2", "true", "-")
    ]
    assert _columns(lines.scope(Scope("", None, False, 0, 0, ()))) == [
        *("(store)", "unlimited", "0", "unlimited", "0", "-", "false", "-")
    ]


def test_a_device_tells_which_jobs_have_it() -> None:
    holders = tuple(Holder(job, None, 1, "p", "", 1, its, START.wall) for job, its in ((1, "0,1"), (2, "1")))
    scope = Scope("p", 6, True, 3, 0, holders, ("0", "1", "10"))
    assert _columns(lines.scope(scope))[-1] == "0:1,1:1+2,10"


def test_reasons_are_told_depth_first() -> None:
    tree = (Reason("a", "x", "inturn logs 7", 7, (Reason("b", "y"),)), Reason("c", "z"))
    assert [_columns(line) for line in lines.reasons(tree)] == [
        ["0", "a", "x", "inturn logs 7"],
        ["1", "b", "y", "-"],
        ["0", "c", "z", "-"],
    ]


def test_a_document_becomes_a_key_and_a_value_a_line() -> None:
    document = {"a": 1, "b": {"c": True, "d": None}, "e": [{"f": "x\ty"}, "z"], "g": []}
    assert list(lines.document(document)) == ["a\t1", "b.c\ttrue", "b.d\t-", "e.0.f\tx\\ty", "e.1\tz"]

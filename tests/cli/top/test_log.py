from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.cli.top.log import log
from inturn.service.tail import Tail


def _shown(data: bytes, most: int = 100, cut: bool = False) -> str:
    return log(Tail(7, 1, {}, data, cut), most).plain


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"one\ntwo\n", "one\ntwo"),
        (b"no newline", "no newline"),
        (b"\n\n", "\n"),
        (b"10%\r50%\r100%\ndone\r\n", "100%\ndone"),
        (b"a\tb", "a       b"),
        (
            b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
            "red textlink",
        ),
        (b"\x1b(B\x1b7\x1b[?25l\x1b[2Jx\x1b", "x"),
        (b"[red]no markup[/red]", "[red]no markup[/red]"),
        (b"\xff\x07\x08", "\\xff\\x07\\x08"),
        ("漢字\u202e".encode(), "漢字\\u202e"),
    ],
)
def test_output_is_shown_as_text(data: bytes, shown: str) -> None:
    assert _shown(data) == shown


@given(st.binary())
def test_no_output_steers_the_terminal(data: bytes) -> None:
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in _shown(data).replace("\n", ""))


def test_only_the_last_lines_are_shown_and_no_half_one() -> None:
    assert _shown(b"1\n2\n3\n", 2) == "2\n3"
    assert _shown(b"alf\n2\n3\n", cut=True) == "2\n3"
    assert _shown(b"x" * 5000, cut=True) == "x" * 2000 + "…"


def test_where_nothing_was_written_that_is_said() -> None:
    assert log(Tail(7), 9).plain == "has not run yet"
    assert _shown(b"") == "no output"

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain näme 👩‍🔬 a\u00a0b", "plain näme 👩‍🔬 a\u00a0b"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\tb\nc\rd\0", "a\\tb\\nc\\rd\\x00"),
        ("\x7f\x9b0m", "\\x7f\\x9b0m"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("a\u2028b", "a\\u2028b"),
        ("caf\udce9", "caf\\xe9"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_instead(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_nothing_that_is_shown_can_steer_a_terminal_or_fail_to_be_encoded(text: str) -> None:
    shown = printable(text)
    assert all(c >= " " and not "\x7f" <= c <= "\x9f" for c in shown)
    shown.encode()

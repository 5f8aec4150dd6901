from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from inturn import conditions
from inturn.conditions.base import LONGEST_DIAGNOSTIC, observed
from inturn.core.spec import CONDITION_KINDS


def test_every_kind_that_can_be_asked_for_can_be_looked_at() -> None:
    assert set(conditions.KINDS) == set(CONDITION_KINDS)


@given(st.text())
@example("\x1b[31mred\x1b[0m")
@example("a\u202egpj.exe")
@example("\ud800")
@example("ab" * LONGEST_DIAGNOSTIC)
def test_a_diagnostic_is_one_short_printable_line(text: str) -> None:
    diagnostic = observed(True, text).diagnostic
    assert len(diagnostic) <= LONGEST_DIAGNOSTIC
    assert diagnostic.isprintable()


def test_a_short_printable_line_stays_as_it_is() -> None:
    assert observed(False, "exit 1: größer als 5 °C").diagnostic == "exit 1: größer als 5 °C"


def test_tabs_become_blanks_so_that_words_stay_apart() -> None:
    assert observed(False, "disk\tfull\n").diagnostic == "disk full"

"""What Hypothesis draws for the tests of the store."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from inturn.core.moment import Stopwatch
from tests.builders import BOOT

INTEGERS = st.integers(0, 2**62)
INSTANTS = st.integers(-(2**62), 2**62)
IDS = st.integers(1, 2**50)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
WATCHES = st.builds(Stopwatch, INTEGERS, INSTANTS, INSTANTS, st.sampled_from(["", BOOT]))

# The store of the fixture is used for all the examples of one property.
one_store = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

from __future__ import annotations

from inturn.cli.text import did_you_mean


def test_a_beginning_or_a_near_miss_is_recognised_and_the_rest_is_not() -> None:
    known = ("--priority", "--pool", "--retries")
    assert did_you_mean("--prio", known) == " (did you mean --priority?)"
    assert did_you_mean("--retires", known) == " (did you mean --retries?)"
    assert did_you_mean("--colour", known) == ""
    assert did_you_mean("--", known) == ""

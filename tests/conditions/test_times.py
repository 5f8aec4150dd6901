from __future__ import annotations

import pytest

from inturn import conditions
from inturn.conditions.base import Observation, Surroundings
from inturn.core.job import Condition
from inturn.core.moment import SECOND, Deadline, Now, after

SURROUNDINGS = Surroundings(b"/", {}, SECOND)
START = Now(1_806_195_600 * SECOND, 50 * SECOND, "this-boot")
INSTANT = "until 2027-03-28T01:00:00Z"


def look(kind: str, due: Deadline, now: Now) -> Observation:
    seen = conditions.start(Condition(1, 0, kind, due=due), SURROUNDINGS, now)
    assert isinstance(seen, Observation)
    return seen


@pytest.mark.parametrize("kind", ["until", "delay"])
@pytest.mark.parametrize(("early", "satisfied"), [(1, False), (0, True), (-1, True)])
def test_it_is_satisfied_from_its_instant_on(kind: str, early: int, satisfied: bool) -> None:
    due = Deadline(START.wall)
    assert look(kind, due, START._replace(wall=START.wall - early)) == (satisfied, INSTANT)


def test_a_delay_does_not_follow_the_wall_clock() -> None:
    due = after(START._replace(wall=START.wall - 9 * SECOND), 9 * SECOND)
    set_forward = START._replace(wall=START.wall + 1_000 * SECOND)
    assert look("delay", due, set_forward) == (False, INSTANT)
    assert look("delay", due, START._replace(wall=0, mono=START.mono + 9 * SECOND)) == (True, INSTANT)


def test_a_delay_goes_on_by_the_wall_clock_after_a_reboot() -> None:
    due = after(START, 9 * SECOND)
    rebooted = Now(START.wall + 8 * SECOND, 0, "next-boot")
    assert not look("delay", due, rebooted).satisfied
    assert look("delay", due, rebooted._replace(wall=START.wall + 9 * SECOND)).satisfied

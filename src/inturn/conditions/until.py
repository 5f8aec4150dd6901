"""`--wait-until`: an absolute time, which follows the wall clock."""

from __future__ import annotations

from inturn.conditions.base import at_its_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.conditions.base import Observation, Surroundings
    from inturn.core.job import Condition
    from inturn.core.moment import Now


def start(condition: Condition, _surroundings: Surroundings, now: Now) -> Observation:
    """Whether the time has come."""
    return at_its_time(condition, now)

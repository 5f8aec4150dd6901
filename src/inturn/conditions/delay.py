"""`--wait-delay`: elapsed time since the submission, which a change of the wall clock does not touch."""

from __future__ import annotations

from inturn.conditions.base import at_its_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.conditions.base import Observation, Surroundings
    from inturn.core.job import Condition
    from inturn.core.moment import Now


def start(condition: Condition, _surroundings: Surroundings, now: Now) -> Observation:
    """Whether the delay is over. The instant that is shown is where the wall clock was expected to be."""
    return at_its_time(condition, now)

"""Wait conditions: what may gate a job's first run besides other jobs. One file for each kind.

A kind is a function `start(condition, surroundings, now)`. It looks once, and either tells at once what it
saw, or hands back a `Pending` look that the owner watches among everything else it waits for.
"""

from __future__ import annotations

from inturn.conditions import delay, file, probe, until
from inturn.conditions.base import Observation, Surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from inturn.conditions.base import Pending
    from inturn.core.job import Condition
    from inturn.core.moment import Now

    Start = Callable[[Condition, Surroundings, Now], Observation | Pending]

__all__ = ["KINDS", "Observation", "Surroundings", "start"]

KINDS: dict[str, Start] = {
    "until": until.start,
    "delay": delay.start,
    "file": file.start,
    "probe": probe.start,
}


def start(condition: Condition, surroundings: Surroundings, now: Now) -> Observation | Pending:
    """Look at a wait condition, whatever its kind. Never blocks for longer than one look at a file.

    Raises nothing: what cannot be looked at is not satisfied, and its diagnostic says why.
    """
    return KINDS[condition.kind](condition, surroundings, now)

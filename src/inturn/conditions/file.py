"""`--wait-file`: something exists at a path."""

from __future__ import annotations

import os

from inturn.conditions.base import observed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.conditions.base import Observation, Surroundings
    from inturn.core.job import Condition
    from inturn.core.moment import Now


def start(condition: Condition, surroundings: Surroundings, _now: Now) -> Observation:
    """Whether anything exists at the path, which is relative to the job's directory.

    A file, a directory, a device, a socket: all count. A link counts if it leads to something.
    """
    try:
        os.stat(os.path.join(surroundings.cwd, condition.argument))
    except OSError as error:
        return observed(False, error.strerror or str(error))
    return observed(True, "exists")

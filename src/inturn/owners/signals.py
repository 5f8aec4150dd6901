"""Telling a run to stand still, to go on, to end, to be gone."""

from __future__ import annotations

# Not `signal`, which would bring `enum` into every waiting supervisor.
import _signal  # type: ignore[import-not-found]

from inturn.core.moment import MILLISECOND, MINUTE
from inturn.host import faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.decide import Sight
    from inturn.core.moment import Now
    from inturn.engines.base import Running

# When a paused run is stopped once more (µs), in case that one of its processes has got away: at first, and
# after ever longer pauses as long as none has.
HALT_AGAIN = 50 * MILLISECOND
HALT_AGAIN_AT_MOST = MINUTE


class Signals:
    """Signals the whole of one run."""

    def __init__(self) -> None:
        self._halt_pause = 0

    def send(self, how: str, running: Running, sight: Sight, now: Now) -> Sight:
        """STOP, CONT, TERM or KILL it (`how`: halt, continue, terminate, kill); returns what is known then.

        A stopped process hears TERM only once it goes on.
        """
        faults.point("signal." + how)
        if how == "halt":
            still = running.signal_tree(_signal.SIGSTOP) and sight.halted
            self._halt_pause = min(2 * self._halt_pause, HALT_AGAIN_AT_MOST) if still else HALT_AGAIN
            sight = sight._replace(halted=True, halt_at=now.mono + self._halt_pause)
        elif how == "continue":
            running.signal_tree(_signal.SIGCONT)
            sight = sight._replace(halted=False)
        elif how == "terminate":
            running.signal_tree(_signal.SIGTERM)
            running.signal_tree(_signal.SIGCONT)
            sight = sight._replace(term_at=now.mono)
        else:
            running.signal_tree(_signal.SIGKILL)
            sight = sight._replace(kill_at=now.mono)
        faults.point("signalled." + how)
        return sight

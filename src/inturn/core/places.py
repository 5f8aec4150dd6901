"""How many jobs a worker has at once. Pure: the clock and what was seen are handed in."""

from __future__ import annotations

from inturn.core.moment import SECOND
from inturn.core.retry import ever_later


class Places:
    """As many as it was told, or, as long as more could not be started, as many as could.

    What it lacks (descriptors, processes, memory) may be there again at any time, and nothing tells. So it
    has one job more from time to time: ever more rarely as long as that fails, a second after each success.
    """

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._proven = wanted
        self._failures = 0
        self._try_at = 0

    @property
    def reduced(self) -> bool:
        """Whether it has had to do with fewer than it was told, and still has."""
        return self._proven < self._wanted

    def limit(self, mono: int) -> int:
        """How many it may have at this monotonic instant (µs)."""
        return self._proven + (self.reduced and mono >= self._try_at)

    def wait(self, mono: int) -> int:
        """Microseconds until one more is tried; 0 if it is time for that, or there is no need."""
        return max(self._try_at - mono, 0) if self.reduced else 0

    def lacked(self, held: int, mono: int) -> None:
        """One could not be started beside so many others."""
        # Those that were claimed together fail together.
        if mono >= self._try_at:
            self._failures += 1
            self._try_at = mono + ever_later(self._failures)
        self._proven = min(self._proven, held)

    def running(self, number: int, mono: int) -> None:
        """So many of its jobs run."""
        if number > self._proven:
            self._proven = min(number, self._wanted)
            self._failures = 0
            self._try_at = mono + SECOND

"""The clocks of a simulated machine: they move when they are told to."""

from __future__ import annotations

from inturn.core.moment import SECOND, Now

# Boot ids are random: a later one may sort before an earlier one.
_BOOTS = ("mike", "tango", "delta", "zulu", "alpha", "sierra", "bravo")

_WALL = 1_800_000_000 * SECOND
_SINCE_BOOT = 100 * SECOND


class Clock:
    """Wall, monotonic clock and boot. `furthest` is the latest wall time that anybody can have seen."""

    def __init__(self) -> None:
        self.wall = self.furthest = _WALL
        self.mono = _SINCE_BOOT
        self.boots = 0
        self._passed = 0

    @property
    def boot(self) -> str:
        return _BOOTS[self.boots % len(_BOOTS)]

    def now(self) -> Now:
        return Now(self.wall, self.mono, self.boot)

    def advance(self, duration: int) -> None:
        """Let time pass."""
        self.mono += duration
        self._passed += duration
        self.jump(duration)

    def jump(self, by: int) -> None:
        """Set the wall clock alone: somebody corrects it, or the machine was asleep."""
        self.wall += by
        self.furthest = max(self.furthest, self.wall)

    def reboot(self, down: int) -> None:
        """Start the machine again after it was down for so long."""
        self.boots += 1
        self.mono = _SINCE_BOOT
        self._passed += down
        self.jump(down)

    def told(self) -> str:
        """The time since the beginning, for people."""
        return f"{self._passed / SECOND:9.3f}s"

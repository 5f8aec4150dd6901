"""Time as the core sees it: always handed in, never asked for. All times are integer microseconds."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


class Now(NamedTuple):
    """One reading of the clocks.

    `wall` is microseconds since the Unix epoch and may jump; `mono` is microseconds on the monotonic clock,
    comparable only between readings with the same `boot` (the kernel's boot id), and stands still while the
    machine is suspended.
    """

    wall: int
    mono: int
    boot: str


class Deadline(NamedTuple):
    """An instant that is reached by elapsed time, or by the wall clock.

    With a `boot` that is the present one, `at` on the monotonic clock decides, so that a change of the wall
    clock moves nothing; else (an absolute time, or the machine was restarted) `wall` does.
    """

    wall: int
    boot: str = ""
    at: int = 0

    def remaining(self, now: Now) -> int:
        """Microseconds until the instant; zero or less when it has been reached."""
        if self.boot and self.boot == now.boot:
            return self.at - now.mono
        return self.wall - now.wall

    def reached(self, now: Now) -> bool:
        """Whether the instant has come."""
        return self.remaining(now) <= 0


NO_DEADLINE = Deadline(0)


def after(now: Now, delay: int) -> Deadline:
    """The instant `delay` microseconds of elapsed time after `now`."""
    return Deadline(now.wall + delay, now.boot, now.mono + delay)


class Stopwatch(NamedTuple):
    """Elapsed time that survives a restart of the machine, and can be halted.

    `used` is what had been consumed when the watch was last started, at `wall` and `mono` on `boot`; an empty
    `boot` is a halted watch. After a reboot the difference of the wall clock, never negative, is added.
    """

    used: int = 0
    wall: int = 0
    mono: int = 0
    boot: str = ""

    def elapsed(self, now: Now) -> int:
        """Microseconds consumed until `now`."""
        if not self.boot:
            return self.used
        passed = now.mono - self.mono if self.boot == now.boot else now.wall - self.wall
        return self.used + max(passed, 0)

    def start(self, now: Now) -> Stopwatch:
        """The watch, running from `now` on."""
        return Stopwatch(self.elapsed(now), now.wall, now.mono, now.boot)

    def halt(self, now: Now) -> Stopwatch:
        """The watch, standing still."""
        return Stopwatch(self.elapsed(now))

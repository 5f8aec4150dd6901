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

"""How people are told about jobs, spans of time and instants, in messages and in tables."""

from __future__ import annotations

from inturn.core.duration import DAY, format_time_local, quoted
from inturn.core.moment import HOUR, MINUTE, SECOND

# From large to small; each with the next smaller one, of which a small number of it is said as well.
_SPANS = ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "m"), (MINUTE, "m", SECOND, "s"))

# From so many of the larger unit on, the smaller one tells nothing any more.
_ROUND_FROM = 10


def label(job_id: int, name: str | None) -> str:
    """A job as messages call it: `job 7`, or `job 7 ("prepare")`."""
    return f"job {job_id}" if name is None else f"job {job_id} ({quoted(name)})"


def rough(us: int) -> str:
    """A span in microseconds to about two digits, never negative: `0s`, `42s`, `3m20s`, `15m`, `2d4h`."""
    for unit, letter, smaller, smaller_letter in _SPANS:
        count, rest = divmod(us, unit)
        if count > 0:
            rest //= smaller
            return f"{count}{letter}" + (f"{rest}{smaller_letter}" if rest and count < _ROUND_FROM else "")
    return f"{max(us, 0) // SECOND}s"


def ago(at: int, wall: int) -> str:
    """How long before `wall` the instant `at` was, both in wall microseconds: `3m20s ago`."""
    return rough(wall - at) + " ago"


def instant(us: int) -> str:
    """Wall microseconds as local time to the second: `2027-03-28 03:00:00+02:00`."""
    return format_time_local(us - us % SECOND)


def slots(count: int) -> str:
    """`1 slot`, `3 slots`."""
    return f"{count} slot" if count == 1 else f"{count} slots"


def signal_name(number: int) -> str:
    """`SIGTERM` for 15; `signal 99` for one without a name."""
    import signal  # brings enum along

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

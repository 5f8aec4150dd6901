"""What the kinds of wait conditions have in common: what they are told, and what they tell."""

from __future__ import annotations

from inturn.core.duration import format_time_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple, Protocol

    from inturn.core.job import Condition
    from inturn.core.moment import Now
else:
    from inturn.core.records import NamedTuple

LONGEST_DIAGNOSTIC = 200  # characters


class Surroundings(NamedTuple):
    """Where a condition looks: the job's directory (absolute) and environment.

    `probe_timeout` is how long one probe may take, in microseconds.
    """

    cwd: bytes
    environment: dict[bytes, bytes]
    probe_timeout: int


class Observation(NamedTuple):
    """What one look saw. `diagnostic` is one printable line of at most LONGEST_DIAGNOSTIC characters."""

    satisfied: bool
    diagnostic: str


if TYPE_CHECKING:

    class Pending(Protocol):
        """A look that takes its time. Whoever started it polls it until it has an observation."""

        @property
        def pid(self) -> int:
            """A child of ours that only `poll` and `abandon` may reap: nobody else may take its end away."""

        @property
        def deadline(self) -> int:
            """The monotonic instant, in microseconds, at which `poll` ends it."""

        def filenos(self) -> tuple[int, ...]:
            """Descriptors of which one becomes readable when `poll` has something to do.

            To be asked for anew before each wait: they become fewer.
            """

        def poll(self, now: Now) -> Observation | None:
            """What was seen, or None as long as that is not known. Says the same ever after."""

        def abandon(self) -> None:
            """End it without a result. Does nothing once `poll` has given one; may be repeated."""


def observed(satisfied: bool, text: str) -> Observation:
    """An observation with `text` made fit for one line: shortened, without control characters."""
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    if len(line) > LONGEST_DIAGNOSTIC:
        line = line[: LONGEST_DIAGNOSTIC - 1] + "…"
    return Observation(satisfied, line)


def at_its_time(condition: Condition, now: Now) -> Observation:
    """Whether the instant of a condition has come: elapsed time for a delay, the wall clock for a time."""
    return observed(condition.due.reached(now), "until " + format_time_utc(condition.due.wall))

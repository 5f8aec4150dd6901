"""How long, how fast, and with which retention."""

from __future__ import annotations

from typing import NamedTuple

# What has ended stays for a twelfth of the time, and goes in five steps: of an hour five minutes and one.
_KEPT, _STEPS = 12, 5


class Settings(NamedTuple):
    """What a soak is asked to do.

    `places` are those of the worker, `every` is the time between two samples in seconds.
    """

    minutes: float = 60
    rate: int = 50  # jobs a second
    places: int = 2
    every: float = 10
    disk_mib: int = 256

    @property
    def seconds(self) -> float:
        """How long jobs are added."""
        return self.minutes * 60

    @property
    def kept(self) -> float:
        """How long a job that has ended is kept, in seconds."""
        return self.seconds / _KEPT

    @property
    def prune_every(self) -> float:
        """The seconds between two removals."""
        return self.kept / _STEPS

    @property
    def warm_up(self) -> float:
        """After so many seconds as much is removed as is added: what comes before is not judged."""
        return self.kept + 2 * self.prune_every

"""inturn, by its command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from bench.place import Place
from bench.tools.base import Tool

# Exit codes of inturn: nothing fits, and some have ended meanwhile.
NO_SUCH_JOB, IN_PART = 3, 6

PROGRAM = os.path.join(os.path.dirname(sys.executable), "inturn")


class Inturn(Tool):
    """inturn with a queue and workers."""

    name = "inturn"
    package = "inturn"
    submission = "`inturn add -- true`"
    most_places = 64
    most_workers = 64
    chain = "--after-success"

    def version(self) -> str | None:
        """The version of the checkout."""
        from inturn import __version__

        return __version__

    def prepare(self, place: Place) -> None:
        """What still waits at the end is cancelled."""
        place.at_the_end(lambda: cancel_all(place))

    def environment(self, place: Place) -> dict[str, str]:
        """Every place names its store."""
        return {"INTURN_DIR": place.store}

    def add(self, command: Sequence[str]) -> list[str]:
        """`inturn add`."""
        return [PROGRAM, "add", "--", *command]

    def fill(self, place: Place, command: Sequence[str], count: int) -> None:
        """An array."""
        place.run([PROGRAM, "add", "--array", f"1-{count}", "--", *command])

    def follow(self, place: Place, command: Sequence[str], previous: str) -> str:
        """A dependency on success."""
        return inturn(place, "add", "--after-success", previous, "--", *command)

    def work(self, place: Place, places: int = 1) -> None:
        """`inturn work`."""
        place.popen([PROGRAM, "work", "-j", str(places)])


def inturn(place: Place, *words: str) -> str:
    """Run a command of inturn that is not measured, and return what it prints."""
    return place.run([PROGRAM, *words]).decode().strip()


def cancel_all(place: Place) -> None:
    """Cancel whatever has not ended, in the store of the place."""
    if os.path.exists(place.store):
        place.run([PROGRAM, "cancel", "--status", "live", "--yes"], allowed=(0, NO_SUCH_JOB, IN_PART))

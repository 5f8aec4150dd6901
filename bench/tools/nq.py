"""nq: C, a process for each job, which waits for the lock of the one before it."""

from __future__ import annotations

from collections.abc import Sequence

from bench.place import Place
from bench.tools.base import Tool, debian_version


class Nq(Tool):
    """`nq`."""

    name = "nq"
    package = "nq"
    submission = "`nq true`"
    chain = "its line"

    def version(self) -> str | None:
        """The version of the Debian package."""
        return debian_version(self.package, "nq")

    def environment(self, place: Place) -> dict[str, str]:
        """Where the files of its jobs go."""
        return {"NQDIR": self.files(place)}

    def add(self, command: Sequence[str]) -> list[str]:
        """`nq COMMAND`."""
        return ["nq", *command]

    def work(self, place: Place, places: int = 1) -> None:
        """Jobs see to themselves, one at a time."""
        assert places == 1, f"nq runs one job at a time in {self.files(place)}"

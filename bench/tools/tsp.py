"""task-spooler: C, a server that starts with the first job, nothing durable."""

from __future__ import annotations

from collections.abc import Sequence

from bench.place import Place
from bench.tools.base import Tool, debian_version


class TaskSpooler(Tool):
    """`tsp`, as Debian calls it."""

    name = "tsp"
    package = "task-spooler"
    submission = "`tsp true`"
    # Every waiting job is a process with a connection to the server, which takes a thousand and then blocks.
    most_waiting = 900
    most_places = 64
    residents = 1
    chain = "-D"

    def version(self) -> str | None:
        """The version of the Debian package."""
        return debian_version(self.package, "tsp")

    def prepare(self, place: Place) -> None:
        """The server does not end by itself."""
        super().prepare(place)
        place.at_the_end(lambda: place.run(["tsp", "-K"], self.environment(place)))

    def environment(self, place: Place) -> dict[str, str]:
        """A socket of its own."""
        return {"TS_SOCKET": f"{self.files(place)}/socket", "TS_MAXFINISHED": "2000"}

    def add(self, command: Sequence[str]) -> list[str]:
        """`tsp COMMAND`."""
        return ["tsp", *command]

    def follow(self, place: Place, command: Sequence[str], previous: str) -> str:
        """A dependency on success."""
        return place.run(["tsp", "-D", previous, *command], self.environment(place)).decode().strip()

    def work(self, place: Place, places: int = 1) -> None:
        """There is one server, and its number of places can be set."""
        place.run(["tsp", "-S", str(places)], self.environment(place))

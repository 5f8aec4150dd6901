"""spoolctl: Python, SQLite, workers that poll."""

from __future__ import annotations

from collections.abc import Sequence

from bench.place import Place, program
from bench.tools.base import Tool, in_venv, pypi_version


class Spoolctl(Tool):
    """`spoolctl`."""

    name = "spoolctl"
    package = "spoolctl"
    submission = "`spoolctl add -- true`"
    from_pypi = True
    most_workers = 64
    chain = "its line"

    def version(self) -> str | None:
        """The version that is in the environment of the neighbours."""
        return pypi_version(self.package)

    def environment(self, place: Place) -> dict[str, str]:
        """A database of its own."""
        return {"SPOOLCTL_DB": f"{self.files(place)}/db"}

    def add(self, command: Sequence[str]) -> list[str]:
        """`spoolctl add`."""
        return [in_venv("spoolctl"), "add", "--", *command]

    def fill(self, place: Place, command: Sequence[str], count: int) -> None:
        """The same, many times in one process."""
        script = program("spoolctl_fill.py")[1]
        place.run([in_venv("python"), script, str(count), *command], self.environment(place))

    def work(self, place: Place, places: int = 1) -> None:
        """`spoolctl work`, which runs one job at a time."""
        assert places == 1
        place.popen([in_venv("spoolctl"), "work"], self.environment(place))

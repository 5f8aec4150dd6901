"""huey: a Python library for tasks, here with its SQLite storage as it comes, which does not sync."""

from __future__ import annotations

from collections.abc import Sequence

from bench.place import Place, program
from bench.tools.base import Tool, in_venv, pypi_version


class Huey(Tool):
    """A task that runs a command."""

    name = "huey"
    package = "huey"
    submission = "huey, a program that enqueues a task"
    from_pypi = True
    most_places = 64
    most_workers = 64

    def version(self) -> str | None:
        """The version that is in the environment of the neighbours."""
        return pypi_version(self.package)

    def environment(self, place: Place) -> dict[str, str]:
        """A database of its own, and where the task is."""
        script = program("huey_tasks.py")[1]
        return {"HUEY_DB": f"{self.files(place)}/db", "PYTHONPATH": script.rpartition("/")[0]}

    def add(self, command: Sequence[str]) -> list[str]:
        """A program that enqueues the task: huey has no command for it."""
        return self._enqueue(command, 1)

    def fill(self, place: Place, command: Sequence[str], count: int) -> None:
        """The same, many times in one process."""
        place.run(self._enqueue(command, count), self.environment(place))

    def work(self, place: Place, places: int = 1) -> None:
        """The consumer, with so many threads."""
        consumer = [in_venv("huey_consumer"), "huey_tasks.huey", "-w", str(places), "-q"]
        place.popen(consumer, self.environment(place))

    def _enqueue(self, command: Sequence[str], count: int) -> list[str]:
        return [in_venv("python"), program("huey_tasks.py")[1], str(count), *command]

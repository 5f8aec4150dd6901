"""What the benchmark needs of a tool that runs commands."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence

from bench.place import Place

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Where the neighbours that come from PyPI are installed.
VENV = os.path.join(ROOT, ".bench-venv")


def in_venv(name: str) -> str:
    """The path of a program there."""
    return os.path.join(VENV, "bin", name)


class Tool(ABC):
    """A tool that takes commands and runs them one after the other, or some at a time.

    `package` is what installs it, with apt-get or, if `from_pypi`, with pip. `submission` says how a job is
    submitted, and `chain` what makes one wait for another; '' if nothing does. It takes `most_waiting` jobs
    before one has run, and has `most_workers`, each of which runs `most_places` jobs at a time. `residents`
    are the processes that stay when it has nothing to do.
    """

    name: str
    package: str
    submission: str
    from_pypi = False
    most_waiting = 1_000_000
    most_places = 1
    most_workers = 1
    residents = 0
    chain = ""

    @abstractmethod
    def version(self) -> str | None:
        """Its version, or None if it is not installed."""

    def prepare(self, place: Place) -> None:
        """Called once in a place, before anything else: make what is needed, and see to its end."""
        os.mkdir(self.files(place))

    def files(self, place: Place) -> str:
        """The directory for whatever it keeps."""
        return place.file(self.name)

    @abstractmethod
    def environment(self, place: Place) -> dict[str, str]:
        """What makes it keep its files in the place."""

    @abstractmethod
    def add(self, command: Sequence[str]) -> list[str]:
        """The command line that submits a command."""

    @abstractmethod
    def work(self, place: Place, places: int = 1) -> None:
        """Let a worker begin that runs so many jobs at a time."""

    def submit(self, place: Place, command: Sequence[str]) -> str:
        """Submit a command; returns what the tool prints, which may be an id."""
        return place.run(self.add(command), self.environment(place)).decode().strip()

    def fill(self, place: Place, command: Sequence[str], count: int) -> None:
        """Submit the same command so often, in whatever way is quickest."""
        for _ in range(count):
            place.time(self.add(command), self.environment(place))

    def follow(self, place: Place, command: Sequence[str], previous: str) -> str:
        """Submit a command that runs after the job whose submission returned `previous`.

        Where all jobs stand in one line and run one at a time, that is any submission.
        """
        assert self.chain, f"{self.name} cannot make a job wait for {previous}"
        return self.submit(place, command)


def debian_version(package: str, program: str) -> str | None:
    """The version of an installed package of Debian; without dpkg, `installed` if the program is there."""
    from shutil import which
    from subprocess import run

    if which(program) is None:
        return None
    if which("dpkg-query") is None:
        return "installed"
    query = ["dpkg-query", "--show", "--showformat=${Version}", package]
    return run(query, capture_output=True, text=True, check=False).stdout or "installed"


def pypi_version(package: str) -> str | None:
    """The version of a package in the environment of the neighbours."""
    from importlib.metadata import distributions

    places = [os.path.join(VENV, "lib", name, "site-packages") for name in _versions_of_python()]
    found = [dist.version for dist in distributions(path=places) if dist.name == package]
    return found[0] if found else None


def _versions_of_python() -> list[str]:
    try:
        return os.listdir(os.path.join(VENV, "lib"))
    except FileNotFoundError:
        return []

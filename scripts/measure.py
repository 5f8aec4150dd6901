"""What a command of inturn costs, as a multiple of what the same interpreter needs to start and end.

    .venv/bin/python scripts/measure.py [ROUNDS]

The commands take turns, so that a noisy machine disturbs all alike, and each begins when everything that the
one before it has started is over. What is printed are medians. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from statistics import median

ROUNDS = 30

INTURN = os.path.join(os.path.dirname(sys.executable), "inturn")
FLOOR = "python -c pass"
COMMANDS = {
    FLOOR: (sys.executable, "-c", "pass"),
    "inturn run -- true": (INTURN, "run", "--", "true"),
    "inturn add -- true": (INTURN, "add", "--", "true"),
    "inturn list": (INTURN, "list"),
}
JOBS_TO_LIST = 10


class Stores:
    """One for each command, so that none pays for what another has stored."""

    def __init__(self, root: str) -> None:
        self._root = root
        for _ in range(JOBS_TO_LIST):
            self._call("inturn add -- true", self._of("inturn list"))

    def _of(self, name: str) -> dict[str, str]:
        store = os.path.join(self._root, name.replace(" ", "-"))
        return {**os.environ, "INTURN_DIR": store, "XDG_CONFIG_HOME": self._root}

    def _call(self, name: str, environment: dict[str, str]) -> None:
        subprocess.run(COMMANDS[name], env=environment, stdout=subprocess.DEVNULL, check=True)

    def run(self, name: str) -> float:
        """Run a command; returns how long it took, in milliseconds."""
        environment = self._of(name)
        start = time.perf_counter()
        self._call(name, environment)
        elapsed = time.perf_counter() - start
        owners = os.path.join(environment["INTURN_DIR"], "owners")
        while os.path.exists(owners) and os.listdir(owners):
            time.sleep(0.005)
        return elapsed * 1000


def measure(rounds: int, root: str) -> None:
    """Run everything in turns and print the medians."""
    stores = Stores(root)
    times: dict[str, list[float]] = {name: [stores.run(name)] for name in COMMANDS}
    for _ in range(rounds):
        for name, taken in times.items():
            taken.append(stores.run(name))
    # The first of each has created its store and warmed the caches up.
    medians = {name: median(taken[1:]) for name, taken in times.items()}
    for name, milliseconds in medians.items():
        print(f"{name:<20} {milliseconds:6.1f} ms   {milliseconds / medians[FLOOR]:.2f} x")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="inturn-measure-") as directory:
        measure(int(sys.argv[1]) if sys.argv[1:] else ROUNDS, directory)

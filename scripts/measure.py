"""What a command of inturn costs, as a multiple of what the same interpreter needs to start and end.

    .venv/bin/python scripts/measure.py [ROUNDS]

The commands take turns, so that a noisy machine disturbs all alike; what is printed are medians. Leave the
machine alone meanwhile.
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
FLOOR = (sys.executable, "-c", "pass")
COMMANDS = {
    "run -- true": (INTURN, "run", "--", "true"),
    "add -- true": (INTURN, "add", "--", "true"),
    "list": (INTURN, "list"),
}


def elapsed(command: tuple[str, ...], environment: dict[str, str]) -> float:
    """How long a command takes, in milliseconds."""
    start = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def measure(rounds: int, directory: str) -> None:
    """Run everything in turns and print the medians."""
    environment = {**os.environ, "INTURN_DIR": directory, "INTURN_CONFIG": ""}
    commands = {"python -c pass": FLOOR, **COMMANDS}
    for command in commands.values():
        elapsed(command, environment)  # Creates the store, and warms the caches up.
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(elapsed(command, environment))
    floor = median(times["python -c pass"])
    for name, taken in times.items():
        print(f"{name:<16} {median(taken):6.1f} ms   {median(taken) / floor:.2f} x")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="inturn-measure-", ignore_cleanup_errors=True) as directory:
        measure(int(sys.argv[1]) if sys.argv[1:] else ROUNDS, directory)

"""Live through histories: `python -m tests.simulation --seeds 100000 --start 1`. See `tests/simulation`."""

from __future__ import annotations

import argparse
import sys
from time import monotonic

from tests.simulation.history import histories
from tests.simulation.pool import executor, spread


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many histories")
    parser.add_argument("--start", type=int, default=1, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-hints", dest="hints", action="store_false", help="all hints are lost")
    chosen = parser.parse_args()
    if chosen.seeds == 1:
        return _tell(chosen.start, chosen.hints)
    began = monotonic()
    wrong = 0
    with executor(chosen.processes) as pool:
        for report in spread(range(chosen.start, chosen.start + chosen.seeds), pool, chosen.hints):
            for history in report.wrong:
                print(history, end="\n\n", flush=True)
            wrong += len(report.wrong)
    print(f"{chosen.seeds} histories, {wrong} of them wrong, {monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if wrong else 0


def _tell(seed: int, hints: bool) -> int:
    """One history, whether anything is wrong with it or not."""
    (history,) = histories([seed], hints)
    print(history)
    return 1 if history.problem else 0


if __name__ == "__main__":
    sys.exit(main())

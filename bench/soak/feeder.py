"""What adds the jobs, evenly, until its input ends: python -m bench.soak.feeder STORE RECORD RATE.

A process of its own, so that nothing that is measured holds it up. After each submission it prints how many
jobs there were so far.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Iterator
from typing import cast

import inturn
from bench.soak import jobs
from inturn.api.options import AddLine, RunOptions

# Seconds between two submissions of what has become due.
PAUSE = 0.1

# If the store was busy for long, it is not to be filled at one stroke.
AT_ONCE = 500


class Feeder:
    """Submits jobs by their numbers, one after the other."""

    def __init__(self, store: inturn.Store, record: str, rate: int) -> None:
        self._store = store
        self._record = record
        self._rate = rate
        self.fed = 0
        self._newest: inturn.Job | None = None

    def feed(self, due: int) -> None:
        """Submit what is missing until there are so many."""
        lines: list[AddLine] = []
        first = self.fed
        for number in range(self.fed, min(due, self.fed + AT_ONCE)):
            if jobs.is_supervised(number, self._rate):
                self._flush(lines)
                lines, first = [], number + 1
                options = self._options(number, first)
                self._newest = self._store.run(jobs.command_of(number, self._record), **options)
                self.fed = number + 1
            else:
                lines += self._lines(number, first)
        self._flush(lines)

    def _lines(self, number: int, first: int) -> Iterator[AddLine]:
        options = self._options(number, first)
        command = jobs.command_of(number, self._record)
        yield cast("AddLine", {**options, "command": command, "ref": str(number)})
        if jobs.kind_of(number) is jobs.HOPELESS:
            yield {"command": jobs.never(self._record), "after_success": f"@{number}"}

    def _options(self, number: int, first: int) -> RunOptions:
        """Those of the job; `first` is the number of the first job in the present submission."""
        kind = jobs.kind_of(number)
        before = f"@{number - 1}" if number > first else self._newest
        if kind.after == "success":
            return {**kind.options, "after_success": before}
        if kind.after == "failed":
            return {**kind.options, "after_failed": before}
        return kind.options

    def _flush(self, lines: list[AddLine]) -> None:
        if lines:
            added = self._store.add_many(lines)
            numbered = [job for job, line in zip(added, lines, strict=True) if "ref" in line]
            self._newest = numbered[-1]
            self.fed += len(numbered)


def main(directory: str, record: str, rate: int) -> None:
    """Do it."""
    with inturn.open(directory) as store:
        feeder = Feeder(store, record, rate)
        start = time.monotonic()
        while not select.select((sys.stdin,), (), (), PAUSE)[0]:
            feeder.feed(int((time.monotonic() - start) * rate))
            print(feeder.fed, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

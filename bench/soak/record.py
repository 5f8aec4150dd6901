"""What the jobs say of themselves: whether each has run, and no run was repeated."""

from __future__ import annotations

import os

from bench.soak import jobs

# So many faults are told; the rest is counted.
_TOLD = 5


class Record:
    """Reads the file to which each run adds a line with the number of its job and its own."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.complete = 0
        self.runs = 0
        self.faults: list[str] = []
        self._runs_of: dict[int, int] = {}
        self._rest = b""
        self._file = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)

    def look(self) -> None:
        """Take in what has been added since the last look."""
        while read := os.read(self._file, 1 << 20):
            *lines, self._rest = (self._rest + read).split(b"\n")
            for line in lines:
                self._take(line.decode("ascii", "replace"))

    def missing(self, fed: int) -> list[int]:
        """The jobs among the first `fed` that have not made all of their runs."""
        return [number for number in range(fed) if self._runs_of.get(number, 0) < jobs.kind_of(number).runs]

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _take(self, line: str) -> None:
        self.runs += 1
        job, _, run = line.partition(" ")
        if not (job.isdigit() and run.isdigit()):
            self.faults.append(f"the record has {line!r}")
            return
        number = int(job)
        expected = self._runs_of.get(number, 0) + 1
        self._runs_of[number] = expected
        wanted = jobs.kind_of(number).runs
        if int(run) != expected or expected > wanted:
            self.faults.append(f"job {number}: run {run} comes as number {expected} of {wanted}")
        self.complete += expected == wanted


def told(faults: list[str]) -> str:
    """The first faults, and how many more there are."""
    more = f", and {len(faults) - _TOLD} more" if len(faults) > _TOLD else ""
    return "; ".join(faults[:_TOLD]) + more

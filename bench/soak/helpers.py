"""What goes on beside the measuring: the feeder, the removal of old jobs, and the probe."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time

import inturn
from bench.bell import Bell
from bench.place import PATIENCE, Failed, Place
from bench.soak.settings import Settings
from bench.tools.base import ROOT
from bench.tools.inturn import PROGRAM


class Feeding:
    """The feeder as seen from here."""

    def __init__(self, place: Place, record: str, rate: int) -> None:
        words = [sys.executable, "-m", "bench.soak.feeder", place.store, record, str(rate)]
        self._process = place.popen(words, {"PYTHONPATH": ROOT}, fed=True)
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._told = b"0\n"

    def fed(self) -> int:
        """How many jobs it has added, as far as it has told; raises Failed if it has ended."""
        if self._process.poll() is not None:
            raise Failed(f"the feeder has ended, with exit code {self._process.returncode}")
        return self._read()

    def stop(self) -> int:
        """Have it end; returns how many jobs it has added. Raises Failed if it does not, or not well."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed("the feeder does not end") from None
        if code:
            raise Failed(f"the feeder has ended with exit code {code}")
        return self._read()

    def _read(self) -> int:
        assert self._process.stdout is not None
        try:
            while read := os.read(self._process.stdout.fileno(), 1 << 16):
                self._told = (self._told + read)[-100:]
        except BlockingIOError:
            pass
        return int(self._told.split(b"\n")[-2])


class Pruning(threading.Thread):
    """Removes what has ended, as cron would: every so often, by the command line."""

    def __init__(self, place: Place, settings: Settings) -> None:
        super().__init__(name="pruning")
        self._place = place
        self._settings = settings
        self._stopped = threading.Event()
        self.removed = 0
        self.seconds: list[float] = []
        self.fault = ""

    def run(self) -> None:
        """Do it until it is stopped."""
        while not self._stopped.wait(self._settings.prune_every):
            try:
                self.prune("--older-than", f"{self._settings.kept:.3f}s")
            except (Failed, OSError, subprocess.SubprocessError) as error:
                self.fault = f"pruning failed: {error}"
                return

    def prune(self, *which: str) -> None:
        """Remove these jobs now."""
        start = time.perf_counter()
        removed = self._place.run([PROGRAM, "prune", *which, "--force"]).split()
        self.seconds.append(time.perf_counter() - start)
        self.removed += len(removed)

    def stop(self) -> None:
        """Have it remove nothing more."""
        self._stopped.set()
        if self.is_alive():
            self.join()


class Probe:
    """A job that rings: how long a new one waits for its first instruction."""

    def __init__(self, place: Place) -> None:
        self._bell = Bell(place)
        self._store = place.store
        self._since: float | None = None

    def measure(self, seconds: float) -> float:
        """Submit one and wait for it so long at most; returns the milliseconds until it ran, or until now.

        One that has not run yet is waited for again instead.
        """
        if self._since is None:
            self._since = time.perf_counter()
            with inturn.open(self._store) as store:
                store.add(self._bell.ringer)
        since = self._since
        if select.select((self._bell.fd,), (), (), seconds)[0]:
            self._bell.hear()
            self._since = None
        return (time.perf_counter() - since) * 1000

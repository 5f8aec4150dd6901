"""The course of a soak: everything is set up, sampled, brought to an end, examined and cleaned away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple

import inturn
from bench import machine, process
from bench.place import PATIENCE, Failed, Place, arena, until
from bench.soak import disk, report
from bench.soak.gauge import Sample, Seen, live, look, unused_mib
from bench.soak.helpers import Feeding, Probe, Pruning
from bench.soak.record import Record, told
from bench.soak.settings import Settings
from bench.tools import INTURN
from bench.tools.inturn import PROGRAM

# What `inturn doctor` notes of these is something left behind, and a fault here.
_LEFT_BEHIND = ("files", "errors", "owners")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Course(NamedTuple):
    """What was seen: facts about machine and run, the samples, and what went wrong, in words."""

    facts: dict[str, str]
    samples: list[Sample]
    faults: list[str]


class Unhurried(ExitStack):
    """Whoever is impatient with the end of it does not cut it short: what is mounted is unmounted."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool:
        before = [(one, signal.signal(one, signal.SIG_IGN)) for one in _SIGNALS]
        try:
            return bool(super().__exit__(kind, error, trace))
        finally:
            for one, handler in before:
                signal.signal(one, handler)


def soak(
    settings: Settings,
    tell: Callable[[str], None],
    directory: str | None = None,
    kinds: tuple[str, ...] = disk.KINDS,
) -> Course:
    """Do it all, on the first of these kinds of disks that can be made below `directory`.

    Raises Failed or OSError if something does not work without which nothing can be measured.
    """
    with Unhurried() as stack:
        made = stack.enter_context(arena(directory))
        small = stack.enter_context(disk.small_disk(made.path, settings.disk_mib, kinds))
        place = stack.enter_context(made.place())
        place.store = os.path.join(small.path, "store")
        facts = {**machine.facts(small.path, (INTURN,)), "disk": small.what}
        tell(f"the store is on a disk of {small.what}")
        running = _Soak(settings, place, tell)
        stack.callback(running.let_go)
        faults = running.watch() or running.finish()
        facts |= running.facts()
    return Course(facts, running.samples, faults)


class _Soak:
    """One that is going on."""

    def __init__(self, settings: Settings, place: Place, tell: Callable[[str], None]) -> None:
        self._settings = settings
        self._place = place
        self._tell = tell
        self._database = os.path.join(place.store, "inturn.db")
        self.samples: list[Sample] = []
        self._record = Record(place.file("record"))
        self._pruning = Pruning(place, settings)
        self._worker = place.popen([PROGRAM, "work", "-j", str(settings.places)])
        until(lambda: os.path.exists(f"{self._database}-wal"), "the store")
        self._feeding = Feeding(place, self._record.path, settings.rate)
        self._fed = 0
        self._facts: dict[str, str] = {}

    def let_go(self) -> None:
        """To be called in any case, before the processes of the place are ended."""
        self._pruning.stop()
        self._record.close()

    def facts(self) -> dict[str, str]:
        """What there is to tell of it besides the samples."""
        settings, pruning = self._settings, self._pruning
        kept = f"{settings.kept:g} s, removed every {settings.prune_every:g} s"
        load = f"{settings.rate} jobs/s for {settings.minutes:g} minutes"
        done = f"{self._record.complete:,} jobs in {self._record.runs:,} runs"
        return {
            "load": f"{load}; `inturn work -j {settings.places}`",
            "retention": f"what has ended stays for {kept}",
            "done": f"{done}; {pruning.removed:,} removed",
            "`inturn prune`": f"{max(pruning.seconds, default=0):.1f} s at most",
            **self._facts,
        }

    def watch(self) -> list[str]:
        """Take the samples; returns why it was ended early, if it was."""
        settings = self._settings
        probe = Probe(self._place)
        self._pruning.start()
        self._tell(report.title())
        start = time.monotonic()
        number, before, used, done = 1, start, self._used(), 0
        while number * settings.every <= settings.seconds:
            end = start + number * settings.every
            latency = probe.measure(end - time.monotonic())
            time.sleep(max(end - time.monotonic(), 0))
            self._fed = self._feeding.fed()
            self._record.look()
            now = time.monotonic()
            elapsed = now - before
            cpu, rate = (self._used() - used) / elapsed * 100, (self._record.complete - done) / elapsed
            before, used, done = now, self._used(), self._record.complete
            sample = look(self._place.store, self._worker.pid, Seen(now - start, cpu, rate, latency))
            if sample is None or self._worker.poll() is not None:
                return [f"the worker has ended, with exit code {self._worker.poll()}"]
            self.samples.append(sample)
            self._tell(report.line(sample))
            # A sample that took too long is no reason for a crowd of them.
            number = max(number + 1, int((time.monotonic() - start) / settings.every) + 1)
        return []

    def finish(self) -> list[str]:
        """Bring everything to its end, and look whether all is well; returns what is not."""
        self._fed = self._feeding.stop()
        faults = self._settle()
        self._pruning.stop()
        faults += [self._pruning.fault] if self._pruning.fault else []
        self._worker.terminate()
        try:
            code = self._worker.wait(PATIENCE)
            faults += [f"the worker has ended with exit code {code}"] if code else []
        except subprocess.TimeoutExpired:
            faults.append("the worker does not end")
        self._record.look()
        faults += [f"wrong: {told(self._record.faults)}"] if self._record.faults else []
        missing = self._record.missing(self._fed)
        if missing:
            faults.append(
                f"{len(missing)} of {self._fed} jobs have not run as they should, such as {missing[:5]}"
            )
        faults += self._doctor()
        self._empty()
        return faults

    def _used(self) -> float:
        return process.seconds_used((self._worker.pid,))

    def _settle(self) -> list[str]:
        """Wait until every job has ended."""

        def settled() -> bool:
            with inturn.open(self._place.store) as store:
                left = live(store.counts())
            if left:
                time.sleep(0.1)
            return not left

        start = time.monotonic()
        try:
            until(settled, "the end of all jobs")
        except Failed as error:
            return [str(error)]
        self._facts["the last job ended"] = f"{time.monotonic() - start:.1f} s after the last one was added"
        return []

    def _doctor(self) -> list[str]:
        """What `inturn doctor` finds wrong, or left behind."""
        said = json.loads(self._place.run([PROGRAM, "doctor", "--json"], allowed=(0, 1)))
        return [
            f"inturn doctor: {one['check']}: {one['message']}"
            for one in said["data"]["findings"]
            if one["severity"] == "problem" or (one["severity"] == "note" and one["check"] in _LEFT_BEHIND)
        ]

    def _empty(self) -> None:
        """Remove every job: what the file keeps then."""
        self._pruning.prune("--keep", "0")
        size = os.path.getsize(self._database) / (1 << 20)
        self._facts["`inturn.db` without jobs"] = (
            f"{size:.1f} MiB, {unused_mib(self._database):.1f} MiB of it unused"
        )

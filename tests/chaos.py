"""Chaos: jobs are run while processes of inturn are killed at random. `python -m tests.chaos --seconds 600`.

Only processes of inturn are killed, never what they run. The targets themselves bear witness (see
`tests.e2e.witness`). What is killed when follows from the seed; what that leads to depends on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from inturn.core.job import Job
from inturn.store import jobs as job_store
from tests.e2e.aftermath import Aftermath

WITNESS = str(Path(__file__).parent / "e2e" / "witness.py")
LIMITS = {"": 6, "narrow": 1, "wide": 3}
CONFIGURATION = "schema_version: 1\nconcurrency:\n  max_active_slots: 6\n  pools: {narrow: 1, wide: 3}\n"
WORKERS = 4

# Milliseconds between two deaths.
PAUSES = (50, 200)

# A crash is followed by a pause that grows with their number, so the last job may take its time.
END = 200.0

# How many files there are that some jobs wait for, and what is paused now and then.
GATES = 6
LANES = (("--pool", "narrow"), ("--pool", "wide"), ("--queue", "default"))


class Wanted(NamedTuple):
    """A job, and how it may end."""

    name: str
    verb: str
    line: dict[str, Any]
    outcomes: set[str]


class Chaos(Aftermath):
    """A store, its jobs, its workers, and the one who kills."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root)
        self.rng = random.Random(seed)
        self.killed: Counter[str] = Counter()
        self._workers: list[subprocess.Popen[bytes]] = []
        self._helpers: list[subprocess.Popen[bytes]] = []
        self._paused: set[tuple[str, ...]] = set()
        for name in ("jobs", "active", "done", "told"):
            (self.witness / name).mkdir()
        self.cli.configure(CONFIGURATION)
        self._errors = open(root / "errors", "ab")  # noqa: SIM115 - as long as this lives

    # --- the jobs

    def submit(self, supervised: int, queued: int, longest: float) -> list[Wanted]:
        """Submit jobs with retries, dependencies and pools, of up to `longest` seconds; how each may end."""
        wanted = [
            self._job(number, "run" if number < supervised else "add", longest)
            for number in range(supervised + queued)
        ]
        for verb in ("run", "add"):
            lines = "".join(json.dumps(one.line) + "\n" for one in wanted if one.verb == verb)
            self.cli.run(verb, "--from-file", "-", input=lines).check()
        return wanted

    def _job(self, number: int, verb: str, longest: float) -> Wanted:
        rng = self.rng
        name = f"{verb}-{number}"
        failures = rng.choice([0, 0, 0, 1, 2])
        needed = f"{verb}-{number - rng.randint(1, 5)}" if number % 40 >= 5 and rng.random() < 0.3 else None
        careful = number % 10 == 9
        line: dict[str, Any] = {
            "name": name,
            "ref": name,
            "max_crashes": 0 if careful else "unlimited",
            "retries": 2,
            "slots": 1,
            "command": [
                *(sys.executable, "-I", "-S", WITNESS, str(self.witness), json.dumps(LIMITS)),
                *(f"{rng.uniform(0.05, longest):.2f}", str(failures)),
            ],
        }
        pool = rng.choice(["", "", "narrow", "wide"])
        if pool:
            line["pool"] = pool
        if pool != "narrow":
            line["slots"] = rng.choice([1, 1, 2])
        # What may be lost is needed by nobody, so that the others have to succeed.
        if needed is not None and int(needed.rpartition("-")[2]) % 10 != 9:
            line["after_success"] = [f"@{needed}"]
            line["command"].append(needed)
        line |= self._patience()
        return Wanted(name, verb, line, {"success", "lost"} if careful else {"success"})

    def _patience(self) -> dict[str, Any]:
        """What else a job waits for: often nothing."""
        gate = self._gate(self.rng.randrange(GATES))
        return self.rng.choice(
            [
                *({}, {}, {}),
                {"after": f"{self.rng.uniform(0.1, 10):.1f}s"},
                {"wait_file": [str(gate)]},
                {"wait_probe": [f"test -e {shlex.quote(str(gate))}"]},
                {"retry_delay": "2s"},
            ]
        )

    def _gate(self, number: int) -> Path:
        return self.witness / f"gate-{number}"

    # --- those who are killed

    def tend(self) -> None:
        """Replace dead workers; now and then have somebody recover, let jobs in, or pause some."""
        self._workers = [one for one in self._workers if one.poll() is None]
        while len(self._workers) < WORKERS:
            self._workers.append(self._start("work", "-j", "2"))
        self._helpers = [one for one in self._helpers if one.poll() is None]
        if not self._helpers and self.rng.random() < 0.1:
            self._helpers.append(self._start("recover"))
        if self.rng.random() < 0.05:
            self._gate(self.rng.randrange(GATES)).touch()
        if self.rng.random() < 0.1:
            words = self.rng.choice([*LANES, (str(self.rng.randint(1, 60)),)])
            self._paused.add(words)
            self._helpers.append(self._start(self.rng.choice(["pause", "resume"]), *words))

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        return self.cli.popen(*words, stdout=self._errors, stderr=self._errors, start_new_session=True)

    def kill_one(self) -> None:
        """Kill some process of inturn."""
        ours = self._ours()
        if not ours:
            return
        pid = self.rng.choice(sorted(ours))
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        # Still the same: its number may have been given away since.
        if self._ours().get(pid) == ours[pid]:
            try:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                self.killed[ours[pid]] += 1
            except ProcessLookupError:
                pass
        os.close(handle)

    def _ours(self) -> dict[int, str]:
        """The processes of inturn that live, and what each is; their targets are not among them."""
        found = {one.pid: "worker" for one in self._workers if one.poll() is None}
        found |= {one.pid: "recovery" for one in self._helpers if one.poll() is None}
        store = os.fsencode(self.cli.store)
        for name in os.listdir("/proc"):
            if name.isdigit():
                words = _command(name)
                if store in words and any(word.endswith(b"/supervise.py") for word in words):
                    found[int(name)] = "supervisor"
        return found

    def rage(self, seconds: float) -> None:
        """Kill for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tend()
            self.kill_one()
            time.sleep(self.rng.uniform(*PAUSES) / 1000)

    # --- afterwards

    def settle(self) -> list[Job]:
        """Let everything come to its end."""
        self.tend()
        for process in self._helpers:
            process.wait(timeout=60)
        for number in range(GATES):
            self._gate(number).touch()
        for words in sorted(self._paused):
            self.cli.run("resume", *words)
        self.recover()
        found = self.wait(END)
        for worker in self._workers:
            worker.terminate()
        for process in (*self._workers, *self._helpers):
            process.wait(timeout=60)
        self._errors.close()
        return found

    def problems(self, wanted: list[Wanted], found: list[Job]) -> list[str]:
        """What is not as it should be."""
        told = self.witness / "problems"
        problems = told.read_text().splitlines() if told.exists() else []
        ended = {job.name: job for job in found}
        for one in wanted:
            job = ended.get(one.name)
            if job is None:
                problems.append(f"{one.name} is lost without a trace")
            elif job.outcome not in one.outcomes:
                problems.append(f"{one.name} ended as {job.outcome} ({job.reason})")
            else:
                problems += self._problems_of(job)
        return problems

    def _problems_of(self, job: Job) -> list[str]:
        path = self.witness / "told" / str(job.name)
        lines = path.read_text().splitlines() if path.exists() else []
        started = [int(line.split()[0]) for line in lines if line.endswith("start")]
        ended = [int(line.split()[0]) for line in lines if line.endswith("end")]
        context = self.open()
        assert context.store is not None
        runs = [job_store.load_run(context.store, job.id, number) for number in range(1, job.runs + 1)]
        context.store.close()
        found = []
        if len(set(started)) != len(started):
            found.append(f"a run of {job.name} started twice: {started}")
        for number in started:
            run = runs[number - 1] if number <= len(runs) else None
            if run is None or (run.started_at is None and run.outcome != "lost"):
                found.append(f"run {number} of {job.name} started, and is recorded as {run}")
        if job.outcome == "success" and job.runs not in ended:
            found.append(f"{job.name} is a success, and only {ended} have ended")
        return found

    def close(self) -> None:
        """End everything."""
        self.cli.end_everything(patience=5)
        if not self._errors.closed:
            self._errors.close()


def _command(pid: str) -> list[bytes]:
    try:
        return Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def run(root: Path, seconds: float, seed: int) -> str:
    """Do it once; what happened, in a line. Raises AssertionError."""
    chaos = Chaos(root, seed)
    try:
        wanted = chaos.submit(40, 20, max(seconds / 10, 0.5))
        chaos.tend()
        chaos.rage(seconds)
        found = chaos.settle()
        problems = chaos.problems(wanted, found)
        assert not problems, f"seed {seed}:\n" + "\n".join(problems)
        chaos.assert_nothing_is_left()
        outcomes = Counter(job.outcome for job in found)
        runs = sum(job.runs for job in found)
        return f"seed {seed}: killed {dict(chaos.killed)}; {dict(outcomes)} after {runs} runs"
    finally:
        chaos.close()


def main() -> None:
    """Do it in rounds, until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on (default 60)")
    parser.add_argument(
        "--round", type=float, default=20.0, help="seconds of killing in a round (default 20)"
    )
    parser.add_argument("--seed", type=int, default=None, help="the seed of the first round")
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if asked.seed is None else asked.seed
    end = time.monotonic() + asked.seconds
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as root:
            # The commands show what they said: of interest only where it fails, and then it is in the error.
            with redirect_stdout(StringIO()):
                told = run(Path(root) / "it", asked.round, seed)
            print(told, flush=True)
        seed += 1


if __name__ == "__main__":
    main()

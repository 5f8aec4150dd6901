"""Starts real runs for the tests of engines, and ends every process of them."""

from __future__ import annotations

import ctypes
import os
import secrets
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from inturn.engines.base import Ended, Launch
from inturn.host import log_reader
from tests.e2e.harness import until

if TYPE_CHECKING:
    from inturn.engines.base import Engine, Running

PR_SET_CHILD_SUBREAPER = 36
SLEEP = "sleep 600"
# For a shell: its last background process has become the `sleep` that it was told to be.
ASLEEP = "until grep -qx sleep /proc/$!/comm; do sleep 0.01; done"


class Bench:
    """One engine with a directory for the logs of its runs and one that its jobs work in."""

    def __init__(self, engine: Engine, root: Path) -> None:
        self.engine = engine
        self.logs = root / "logs"
        self.cwd = root / "work"
        self.logs.mkdir()
        self.cwd.mkdir()
        self.stems: dict[Running, str] = {}

    def launch(
        self,
        *argv: str | bytes,
        cwd: Path | None = None,
        env: dict[bytes, bytes] | None = None,
        umask: int = 0o022,
        nice: int = 0,
        stdin: bytes | None = None,
        keep_stdin: bool = False,
        merge: bool = False,
    ) -> Launch:
        """Return a launch with plain defaults, and logs and a token of its own."""
        token = secrets.token_hex(8)
        return Launch(
            argv=tuple(os.fsencode(word) for word in argv),
            cwd=os.fsencode(cwd or self.cwd),
            env={b"PATH": os.environb[b"PATH"]} if env is None else env,
            umask=umask,
            nice=nice,
            stdin=stdin,
            keep_stdin=keep_stdin,
            merge=merge,
            log=str(self.logs / token),
            token=token,
        )

    def start(self, launch: Launch) -> Running:
        """Start it, and remember to end it."""
        run = self.engine.start(launch)
        self.stems[run] = launch.log
        return run

    def shell(self, script: str, merge: bool = False) -> Running:
        """Start a script of sh."""
        return self.start(self.launch("sh", "-c", script, merge=merge))

    def end(self, run: Running) -> Ended:
        """Wait for the end of the leader."""
        ended = until(run.poll, "the end of the run")
        assert ended is not None
        return ended

    def output(self, launch: Launch) -> bytes:
        """Run it to its end and return what it wrote to stdout."""
        run = self.start(launch)
        assert self.end(run).exit_code == 0, self.read(run, "err")
        return self.read(run)

    def read(self, run: Running, stream: str = "out") -> bytes:
        """What a run has written so far."""
        path = Path(f"{self.stems[run]}.{stream}")
        return path.read_bytes() if path.exists() else b""

    def line(self, run: Running, stream: str = "out") -> bytes:
        """Wait for the first whole line of a stream."""
        return until(lambda: self.read(run, stream).partition(b"\n")[0], "a line of output")

    def told(self, run: Running) -> list[tuple[str, bytes]]:
        """What the logs tell of both streams, in their order."""
        return [
            (segment.stream, self.read(run, segment.stream[3:])[segment.start : segment.end])
            for segment in log_reader.segments(self.stems[run])
        ]

    def clean(self) -> None:
        """End everything that was started here, close it, and adopt no more orphans."""
        for run in self.stems:
            self.kill(run)
            run.close()
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def kill(self, run: Running) -> None:
        """Kill everything of a run."""

        def is_gone() -> bool:
            run.signal_tree(signal.SIGKILL)
            return not run.leftovers()

        until(is_gone, "the end of everything that a run has started")


def open_descriptors() -> set[str]:
    """What this process has open."""
    return {
        os.readlink(f"/proc/self/fd/{number}")
        for number in os.listdir("/proc/self/fd")
        if os.path.lexists(f"/proc/self/fd/{number}")
    }

"""Where a case is measured: a fresh directory, an environment of its own, and all processes it starts."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType

from bench import process

PATIENCE = 120.0  # seconds within which whatever is waited for happens, or the benchmark gives up

_PAUSE = 0.002


class Failed(Exception):
    """Something that was to be measured did not work."""


def until(seen: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait until something is so; raises Failed after `patience` seconds."""
    end = time.monotonic() + patience
    while not seen():
        if time.monotonic() > end:
            raise Failed(f"not seen within {patience:g} s: {what}")
        time.sleep(_PAUSE)


class Place:
    """A directory that nothing was in before, and the processes that name it in their environment."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.store = os.path.join(path, "store")
        self._at_the_end: list[Callable[[], object]] = []
        self._started: list[subprocess.Popen[bytes]] = []
        self._fds: list[int] = []
        os.mkdir(path)

    def file(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.path, name)

    def environment(self, changes: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of all that runs here: nothing of the user's settings but the PATH."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": self.path,
            "LANG": "C.UTF-8",
            "TMPDIR": self.path,
            "BENCH_PLACE": self.path,
            "INTURN_DIR": self.store,
            "XDG_CONFIG_HOME": self.path,
            **(changes or {}),
        }

    def run(
        self, command: Sequence[str], changes: Mapping[str, str] | None = None, allowed: Sequence[int] = (0,)
    ) -> bytes:
        """Run something that is not measured; returns what it prints. Raises Failed at another exit code."""
        done = subprocess.run(
            command,
            env=self.environment(changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE * 5,
            check=False,
        )
        if done.returncode not in allowed:
            raise Failed(f"{' '.join(command)[:200]}: exit code {done.returncode}: {done.stderr[-500:]!r}")
        return done.stdout

    def spawn(self, command: Sequence[str], changes: Mapping[str, str] | None = None) -> int:
        """Start something as cheaply as can be, with its output thrown away; returns its pid."""
        silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        return os.posix_spawnp(command[0], list(command), self.environment(changes), file_actions=silent)

    def time(self, command: Sequence[str], changes: Mapping[str, str] | None = None) -> float:
        """How long something takes from its start to its end, in milliseconds; raises Failed if it fails."""
        start = time.perf_counter()
        pid = self.spawn(command, changes)
        _, status = os.waitpid(pid, 0)
        elapsed = time.perf_counter() - start
        if status:
            raise Failed(f"{' '.join(command)[:200]}: wait status {status}")
        return elapsed * 1000

    def popen(
        self, command: Sequence[str], changes: Mapping[str, str] | None = None, fed: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start something whose output is read; it is ended with the place, if it has not ended by then.

        One that is `fed` has a pipe as its input, others an empty file.
        """
        with open(self.file("errors"), "ab") as errors:
            started = subprocess.Popen(
                command,
                env=self.environment(changes),
                stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
            )
        self._started.append(started)
        return started

    def at_the_end(self, call: Callable[[], object]) -> None:
        """Have something called before the place is left: the last that was asked for comes first."""
        self._at_the_end.append(call)

    def fifo(self, name: str) -> tuple[str, int]:
        """Make a FIFO; returns its path and a descriptor.

        It is open at both ends until the last process is gone: nobody blocks, and nobody sees an end.
        """
        path = self.file(name)
        os.mkfifo(path)
        self._fds.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        return path, self._fds[-1]

    def processes(self) -> list[int]:
        """The processes that belong here."""
        return process.belonging(self.path)

    def calm(self, residents: int = 0) -> None:
        """Wait until no processes are left but so many residents."""
        until(lambda: len(self.processes()) <= residents, f"the end of the processes of {self.path}")

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The last comes first, and each comes, whatever becomes of those before it.
        with ExitStack() as rest:
            for fd in self._fds:
                rest.callback(os.close, fd)
            rest.callback(self._kill)
            rest.callback(self._terminate)
            for call in self._at_the_end:
                rest.callback(self._call, call, error is not None)

    def _call(self, call: Callable[[], object], has_failed: bool) -> None:
        """What is said of a place that has failed is why it did, and not what did not work after that."""
        try:
            call()
        except Failed:
            if not has_failed:
                raise

    def _terminate(self) -> None:
        for started in self._started:
            if started.poll() is None:
                started.terminate()
        self._reap(patience=20)

    def _kill(self) -> None:
        for pid in self.processes():
            process.kill(pid, self.path)
        self._reap(patience=20)

    def _reap(self, patience: float) -> None:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            ended = [started.poll() is not None for started in self._started]
            if all(ended) and not self.processes():
                break
            time.sleep(_PAUSE)
        for started in self._started:
            if started.stdout is not None and started.poll() is not None:
                started.stdout.close()


class Arena:
    """Where all places are. Nothing is removed before the very end: deletions slow later ones down."""

    def __init__(self, directory: str | None = None) -> None:
        self.path = tempfile.mkdtemp(prefix="inturn-bench-", dir=directory)
        self._count = 0
        self._shared: dict[str, Place] = {}

    def place(self) -> Place:
        """A new place."""
        self._count += 1
        return Place(os.path.join(self.path, f"{self._count:04}"))

    def shared(self, name: str, fill: Callable[[Place], None]) -> Place:
        """A place that is filled when it is first asked for, and only looked at from then on."""
        if name not in self._shared:
            with self.place() as place:
                fill(place)
            self._shared[name] = place
        return self._shared[name]

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def arena(directory: str | None = None) -> Iterator[Arena]:
    """An arena that is removed at the end."""
    made = Arena(directory)
    try:
        yield made
    finally:
        made.remove()


def program(name: str, *words: str | int) -> list[str]:
    """The command of one of the small programs of the benchmark."""
    return [sys.executable, os.path.join(os.path.dirname(__file__), "programs", name), *map(str, words)]


def wait_readable(fds: Sequence[int], patience: float = PATIENCE) -> list[int]:
    """Wait until some of the descriptors can be read; raises Failed after `patience` seconds."""
    ready, _, _ = select.select(fds, (), (), patience)
    if not ready:
        raise Failed(f"nothing came within {patience:g} s")
    return ready

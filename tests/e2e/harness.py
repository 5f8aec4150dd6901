"""The real command line against a real store, and the means to wait for it and to clean up after it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

INTURN = os.path.join(os.path.dirname(sys.executable), "inturn")

DEADLINE = 60.0  # seconds; generous, because a test asks whether something happens, not how soon
_PAUSE = 0.015

T = TypeVar("T")
Stream = int | IO[Any] | None


def until(predicate: Callable[[], T], what: str, deadline: float = DEADLINE) -> T:
    """Call `predicate` until what it returns is true, and return that; fail after `deadline` seconds."""
    end = time.monotonic() + deadline
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not seen within {deadline:g} s: {what}; the last look gave {value!r}")
        time.sleep(_PAUSE)


class Result(NamedTuple):
    """What one command of inturn left behind. `code` is negative for a signal, as in `subprocess`."""

    args: tuple[str, ...]
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode()

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)

    @property
    def data(self) -> Any:
        """What the JSON document is about, without its envelope."""
        return self.json["data"]

    @property
    def id(self) -> int:
        """The id that a submission printed: alone on its line, and nothing else."""
        (job,) = self.ids
        return job

    @property
    def ids(self) -> list[int]:
        """The ids that a submission of many printed, in their order."""
        self.check()
        return [int(line) for line in self.out.splitlines()]

    def check(self, code: int = 0) -> Result:
        """Return the result itself if it has this exit code; fail and show everything if not."""
        assert self.code == code, f"exit code {self.code}, not {code}:\n{self.told()}"
        return self

    def told(self) -> str:
        """The command and what it said, for a person who reads a failed test."""
        said = "".join(
            f"    {name} {line!r}\n"
            for name, stream in (("out", self.out), ("err", self.err))
            for line in stream.decode("utf-8", "backslashreplace").splitlines()[-40:]
        )
        return f"inturn {' '.join(self.args)} -> {self.code}\n{said}"


class Cli:
    """The `inturn` of this environment, bound to one store; blind to the settings of the tester."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = root / "store"
        self.config = root / "config" / "inturn" / "inturn.yml"
        self._popened: list[subprocess.Popen[bytes]] = []

    def environment(self, changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """Return the environment that commands get: `changes` on top, None removing a variable."""
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("INTURN_", "PYTHON", "PYTEST", "XDG_"))
            and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
        }
        env |= {
            "INTURN_DIR": str(self.store),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_STATE_HOME": str(self.root / "state"),
            "TERM": "dumb",
        }
        for name, value in (changes or {}).items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        return env

    def configure(self, yaml: str) -> None:
        """Write the configuration file that the next command reads."""
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(yaml, encoding="utf-8")

    def run(
        self,
        *args: str | int,
        input: bytes | str | None = None,  # noqa: A002 -- as in subprocess
        env: Mapping[str, str | None] | None = None,
        cwd: Path | str | None = None,
        timeout: float = DEADLINE,
    ) -> Result:
        """Run one command to its end, within `timeout` seconds. Without `input` it reads an empty file."""
        words = tuple(str(arg) for arg in args)
        data = input.encode() if isinstance(input, str) else input
        try:
            done = subprocess.run(
                [INTURN, *words],
                stdin=subprocess.DEVNULL if data is None else None,
                input=data,
                capture_output=True,
                env=self.environment(env),
                cwd=cwd or self.root,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            result = Result(words, -signal.SIGKILL, late.stdout or b"", late.stderr or b"")
            raise AssertionError(f"no end within {timeout:g} s:\n{result.told()}") from None
        result = Result(words, done.returncode, done.stdout, done.stderr)
        print(result.told(), end="")  # pytest shows it when the test fails
        return result

    def popen(
        self,
        *args: str | int,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | str | None = None,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = subprocess.PIPE,
        stderr: Stream = subprocess.PIPE,
        start_new_session: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start one command and leave it running; `end_everything` sees to what is still there at the end."""
        process = subprocess.Popen(
            [INTURN, *(str(arg) for arg in args)],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=self.environment(env),
            cwd=cwd or self.root,
            start_new_session=start_new_session,
        )
        self._popened.append(process)
        return process

    def show(self, job: int | str) -> dict[str, Any]:
        """Return everything about one job."""
        shown: dict[str, Any] = self.run("show", job, "--json").check().data
        return shown

    def phase(self, job: int | str) -> str:
        """Return the phase in which a job is now."""
        return str(self.show(job)["phase"])

    def wait_phase(self, job: int | str, *phases: str, deadline: float = DEADLINE) -> dict[str, Any]:
        """Wait for one of these phases and return all about the job; fail at once if it has ended instead."""

        def there() -> dict[str, Any] | None:
            seen = self.show(job)
            if seen["phase"] in phases:
                return seen
            assert seen["phase"] != "completed", (
                f"job {job} has ended ({seen.get('outcome')}, {seen.get('reason')}) and was to be {phases}"
            )
            return None

        found = until(there, f"job {job} in phase {' or '.join(phases)}", deadline)
        assert found is not None
        return found

    def processes(self) -> dict[int, str]:
        """Return pid and command line of every live process that belongs to this store."""
        return dict(_processes_of(str(self.store)))

    def end_everything(self, patience: float = 20.0) -> dict[int, str]:
        """End all that belongs to this store: politely, then within `patience` seconds by SIGKILL.

        Returns the processes that had to be killed; with every job cancelled, none should have been there.
        """
        if self.store.exists():
            self._cancel_all()
        self._end_popened()
        end = time.monotonic() + patience
        while self.processes() and time.monotonic() < end:
            time.sleep(_PAUSE)
        killed = self.processes()
        for pid in killed:
            _kill(pid, str(self.store))
        if killed:
            until(lambda: not self.processes(), "the end of the processes that were killed")
        return killed

    def _cancel_all(self) -> None:
        # A test may have broken its store on purpose: then nothing can be cancelled, and the search decides.
        listed = self.run("list", "--all", "--json")
        if listed.code == 0:
            live = [job["id"] for job in listed.data if job["phase"] != "completed"]
            if live:
                self.run("cancel", *live)

    def _end_popened(self) -> None:
        for process in self._popened:
            if process.poll() is None:
                process.terminate()
        for process in self._popened:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None and not stream.closed:
                    stream.close()


def _processes_of(store: str) -> Iterator[tuple[int, str]]:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and _belongs(int(name), store):
            yield (
                int(name),
                read_proc(int(name), "cmdline").replace(b"\0", b" ").decode(errors="replace").strip(),
            )


def _belongs(pid: int, store: str) -> bool:
    """Tell whether a process names the store in its environment or arguments, or holds a file in it open."""
    path = os.fsencode(store)
    if b"INTURN_DIR=" + path in read_proc(pid, "environ").split(b"\0"):
        return True
    if any(word == path or path + b"/" in word + b"/" for word in read_proc(pid, "cmdline").split(b"\0")):
        return True
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(link.startswith(store + "/") for link in links)


def read_proc(pid: int, what: str) -> bytes:
    """What /proc tells of a process; nothing of one that is gone or not ours to look at."""
    try:
        with open(f"/proc/{pid}/{what}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _kill(pid: int, store: str) -> None:
    """Send SIGKILL, unless the pid has meanwhile passed to a process that is none of ours."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if _belongs(pid, store):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)

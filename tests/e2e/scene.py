"""Plays in which a process kills itself at a named point, and the stage on which they are performed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from inturn.core.job import Job
from tests.e2e.aftermath import Aftermath
from tests.e2e.harness import until

MORTAL = str(Path(__file__).with_name("mortal.py"))

# Plays of one test that go on at the same time: much of a play is waiting.
AT_ONCE = 6


class Scene(Aftermath):
    """One play: a store of its own, and the orders for whoever is to die in it."""

    def __init__(self, root: Path, point: str, skip: int = 0) -> None:
        super().__init__(root)
        self.point = point
        self.mark = root / "died"
        self._skip = skip
        self._children: list[subprocess.Popen[bytes]] = []

    # --- commands

    def dies(self, role: str, point: str | None = None, mark: str = "died", **extra: Any) -> dict[str, Any]:
        """Orders to die at the point of this play, or at another one."""
        where = self.point if point is None else point
        skip = self._skip if point is None else 0
        return {"role": role, "point": where, "mark": str(self.cli.root / mark), "skip": skip, **extra}

    def start(self, orders: dict[str, Any], *words: str) -> subprocess.Popen[bytes]:
        """Start `inturn WORD…` under orders."""
        with open(self.cli.root / "said", "ab") as said:
            process = subprocess.Popen(
                [sys.executable, MORTAL, json.dumps(orders), *words],
                env=self.cli.environment(),
                cwd=self.cli.root,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self._children.append(process)
        return process

    def command(self, *words: str, **extra: Any) -> int:
        """Run `inturn WORD…`, which dies at the point when it comes by; its exit code."""
        return self.start(self.dies("command", **extra), *words).wait(timeout=120)

    def safe(self, *words: str, **extra: Any) -> int:
        """Run `inturn WORD…`, which does not die; its exit code."""
        code = self.start(self.dies("command", "", **extra), *words).wait(timeout=120)
        assert code >= 0, f"inturn {words[0]} was killed by signal {-code}"
        return code

    def with_mortals(self, *words: str) -> int:
        """Run `inturn WORD…`, which does not die, whereas the supervisors that it starts do."""
        return self.safe(*words, children=self.dies("supervisor"))

    # --- waiting

    def await_death(self, mark: str = "died") -> None:
        """Wait until somebody has died."""
        path = self.cli.root / mark
        until(lambda: path.exists() and path.read_text(), f"a death at {self.point} ({mark})")
        pid = int(path.read_text())
        until(lambda: self._has_gone(pid), f"the end of process {pid}")

    def _has_gone(self, pid: int) -> bool:
        for child in self._children:
            child.poll()
        return has_gone(pid)

    def await_phase(self, *phases: str, job_id: int = 1) -> Job:
        """Wait until a job is in one of these phases."""

        def there() -> Job | None:
            return next((job for job in self.jobs() if job.id == job_id and job.phase in phases), None)

        found = until(there, f"job {job_id} as {phases}")
        assert found is not None
        return found

    def await_file(self, name: str) -> None:
        """Wait until a target has made a file."""
        until((self.cli.root / name).exists, f"the file {name}")

    def give_ids_up_to(self, last: int) -> None:
        """As if jobs had come and been removed again: this was the last id."""
        store = self.open().store
        assert store is not None
        with store.writing():
            store.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'jobs'", (last,))
        store.close()

    def go(self) -> None:
        """Make the file that targets wait for."""
        (self.cli.root / "go").touch()

    def kill_owner(self, job_id: int = 1) -> None:
        """Kill the owner of a job."""
        context = self.open()
        assert context.store is not None
        row = context.store.row(
            "SELECT identity FROM owners WHERE id = (SELECT owner FROM jobs WHERE id = ?)", (job_id,)
        )
        context.store.close()
        pid = int(row[0].split(":")[0])
        os.kill(pid, signal.SIGKILL)
        until(lambda: self._has_gone(pid), f"the end of process {pid}")

    def close(self) -> None:
        """End everything."""
        for child in self._children:
            child.kill()
            child.wait()
        for pid in self._lasting():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _lasting(self) -> set[int]:
        """The processes of this store, looked at twice.

        What another thread is just starting has, for an instant, all that this process has open.
        """
        found = set(self.cli.processes())
        if found:
            time.sleep(0.1)
            found &= set(self.cli.processes())
        return found

    def told(self) -> str:
        """What the processes have said, and which are there."""
        paths = (self.cli.root / "said", self.cli.store / "errors.log")
        said = [path.read_text() for path in paths if path.exists()]
        there = [f"{pid} {state_of(pid)} {command}" for pid, command in self.cli.processes().items()]
        return "\n".join([*said, *there])


def state_of(pid: int) -> str:
    """The letter of a process in /proc/PID/stat; X if it is no more."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "X"
    return text[text.rindex(")") + 2]


def has_gone(pid: int) -> bool:
    """Whether a process is no more, or a zombie."""
    return state_of(pid) in "ZX"


class Play(NamedTuple):
    """How to get somebody to die at one of `points`, and how each of the jobs may end after that.

    `outcomes` is asked with the point. `nothing_after`: the points after which nothing has been submitted.
    """

    name: str
    points: tuple[str, ...]
    act: Callable[[Scene], object]
    outcomes: Callable[[str], set[str]]
    nothing_after: tuple[str, ...] = ()
    skip: int = 0


def both(*names: str) -> tuple[str, ...]:
    """The two points of each of these commits."""
    return tuple(f"{name}.{when}" for name in names for when in ("commit", "committed"))


def always(*outcomes: str) -> Callable[[str], set[str]]:
    """Outcomes that do not depend on the point."""
    return lambda _: set(outcomes)


def perform(play: Play, point: str, root: Path) -> None:
    """Act, and see to it that everything is put right again."""
    scene = Scene(root, point, play.skip)
    try:
        play.act(scene)
        scene.await_death()
        scene.recover()
        ended = scene.wait()
        assert bool(ended) != (point in play.nothing_after), f"{len(ended)} jobs"
        for job in ended:
            assert job.outcome in play.outcomes(point), f"{job}"
        scene.assert_sound()
    except Exception as problem:
        problem.add_note(f"{play.name}, a death at {point}, in {root}\n{scene.told()}")
        raise
    finally:
        scene.close()


def perform_all(play: Play, root: Path) -> None:
    """Perform a play once for each of its points, several at a time; all that went wrong is told."""
    with ThreadPoolExecutor(AT_ONCE) as stage:
        going = {
            point: stage.submit(perform, play, point, root / f"{number}")
            for number, point in enumerate(play.points)
        }
    problems = {point: one.exception() for point, one in going.items() if one.exception() is not None}
    for problem in problems.values():
        traceback.print_exception(problem)
    assert not problems, list(problems)
    bury_children()


def bury_children() -> None:
    """Bury what the recoveries have started in this process."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass

"""An owner with one job in this very process: a real store, real targets, a clock that can be put forward."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from inturn.core.job import Condition, Job, Run
from inturn.core.moment import Now
from inturn.core.retry import Policy
from inturn.core.spec import Submission
from inturn.engines.base import Launch
from inturn.engines.local import LocalEngine
from inturn.engines.process import LocalRun
from inturn.host import clock, identity, paths, spawn, store_dir, wake
from inturn.owners import supervisor
from inturn.owners.owner import Owner
from inturn.owners.task import Task
from inturn.owners.tools import Tools
from inturn.service.context import Context
from inturn.service.control import cancel
from inturn.store import jobs, owners, specs
from inturn.store.db import Store, open_store
from tests.builders import insert_gates, insert_job, make_spec
from tests.e2e.harness import until

TOKEN = "life"


class Clock:
    """The clocks of the system, put forward by `ahead` microseconds, and the wall clock alone by `jumped`."""

    def __init__(self) -> None:
        self.ahead = 0
        self.jumped = 0

    def __call__(self) -> Now:
        now = clock.now()
        return Now(now.wall + self.ahead + self.jumped, now.mono + self.ahead, now.boot)


class Meddled(LocalEngine):
    """The local engine, with something that happens just before and just after a target is started."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None

    def start(self, launch: Launch) -> LocalRun:
        self.before()
        started = super().start(launch)
        self.after()
        return started


class Life:
    """One supervised job from its acceptance on, in the directory `root`.

    `store` is the owner's connection, `other` that of anybody else. Nothing moves unless `turn` is called, or
    one of those that call it.
    """

    def __init__(
        self,
        root: Path,
        script: str = "echo ran >> ran",
        policy: Policy | None = None,
        edges: Iterable[int] = (),
        conditions: tuple[Condition, ...] = (),
        submission: dict[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        self.root = root
        self.directory = str(root / "store")
        store_dir.create_store_dirs(self.directory)
        self.clock = Clock()
        self.engine = Meddled()
        self.store = self.connect()
        self.other = self.connect()
        fields = {"argv": (b"sh", b"-c", script.encode()), "cwd": os.fsencode(root), **spec}
        fields["environment"] = (b"PATH=" + os.environb[b"PATH"],)
        wanted = Submission(make_spec(policy, **fields), **(submission or {}))
        self.id = self._submit(wanted, edges, conditions)

    def connect(self) -> Store:
        """Another connection to the store, whose commits ring the owner."""
        return open_store(self.directory, self._ring)

    def _ring(self, tokens: Iterable[str]) -> None:
        for token in tokens:
            wake.ring(paths.owner_files(self.directory, token)[1])

    def _submit(self, wanted: Submission, edges: Iterable[int], conditions: tuple[Condition, ...]) -> int:
        now = self.clock()
        who = identity.of(os.getpid())
        assert who is not None
        edge_outcomes = dict.fromkeys(edges, ("success",))
        with self.store.writing():
            me = owners.register(self.store, "supervisor", TOKEN, who.text(), (1, 1), "0", now)
            environment = specs.environment_id(self.store, wanted.spec.environment)
            gated = bool(edge_outcomes or conditions)
            job = insert_job(self.store, wanted, gated, me, environment, now)
            insert_gates(self.store, job.id, edge_outcomes, conditions)
        self._fifo = wake.create(paths.owner_files(self.directory, TOKEN)[1])
        self.tools = Tools(self.store, self.engine, self.clock, lambda: 0.5, self.directory, me, lambda: None)
        self.owner = Owner(self.tools, self._fifo)
        return job.id

    def accept(self) -> Life:
        """Take the job over."""
        assert supervisor.take_over(self.tools, self.owner)
        return self

    @property
    def task(self) -> Task:
        """The job in its owner's hands."""
        (task,) = self.owner.tasks
        return task

    @property
    def job(self) -> Job:
        """The job as anybody sees it."""
        job = jobs.load(self.other, self.id)
        assert job is not None
        return job

    @property
    def runs(self) -> list[Run]:
        """The runs of the job as anybody sees them."""
        found = [jobs.load_run(self.other, self.id, number) for number in range(1, self.job.runs + 1)]
        return [run for run in found if run is not None]

    @property
    def slots(self) -> int:
        """How many slots the job holds."""
        return int(self.other.row("SELECT total(slots) FROM admissions WHERE job_id = ?", (self.id,))[0])

    @property
    def events(self) -> list[str]:
        """The ledger of the job."""
        rows = self.other.execute("SELECT kind FROM events WHERE job_id = ? ORDER BY id", (self.id,))
        return [kind for (kind,) in rows]

    def wrote(self, name: str) -> list[str]:
        """The lines that the job's command has written into a file of its directory."""
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []

    def turn_until(self, reached: Callable[[], object], what: str) -> None:
        """Let the owner do its rounds until something has come about."""

        def look() -> bool:
            if reached():
                return True
            assert self.owner.tasks, f"the job has ended before {what}: {self.events}"
            self.owner.turn()
            return False

        until(look, what, deadline=30)

    def reach(self, *phases: str) -> Life:
        """Let the owner do its rounds until the job is in one of these phases."""
        self.turn_until(lambda: self.job.phase in phases, f"phase {' or '.join(phases)}")
        return self

    def reach_attempt(self, number: int) -> Life:
        """Let the owner do its rounds until this attempt has begun; it may have ended as well."""
        self.turn_until(lambda: self.job.attempts >= number, f"attempt {number}")
        return self

    def live(self) -> Job:
        """Let the owner do its rounds until it has no job any more."""
        self.turn_until(lambda: not self.owner.tasks, "the end of the job")
        return self.job

    def run_ready(self) -> Life:
        """Let the job run until its command has written a line into the file `ready`."""
        self.turn_until(lambda: self.wrote("ready"), "the target is ready")
        return self.reach("running")

    def cancel(self) -> None:
        """Cancel the job from elsewhere."""
        cancel(Context(self.directory, self.other, self.clock, "", "", (), lambda _: None), [self.id])

    def close(self) -> None:
        """Cancel what is left, and see it out."""
        if self.owner.tasks:
            if self.job.phase != "completed":
                self.cancel()
            while self.owner.tasks:
                self.clock.ahead += self.task._spec.stop_grace
                self.owner.turn()
        self.store.close()
        self.other.close()
        os.close(self._fifo)
        # A target that was left to another owner is nobody's here, and its pid may come again.
        for pid in spawn.awaited:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        spawn.awaited.clear()

"""A small store in which nothing moves, and whose clock stands still: for pictures and for tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inturn.core import transitions
from inturn.core.job import Job, Run
from inturn.core.moment import MINUTE, SECOND, Now, Stopwatch
from inturn.core.spec import Spec, Submission, WantedEdge
from inturn.core.transitions import Event
from inturn.host import locks, paths, store_dir
from inturn.host.logs import Sampler, open_streams
from inturn.owners.admit import log_of
from inturn.service import capacity, intake
from inturn.service.context import Context
from inturn.store import due, jobs, owners
from inturn.store.db import open_store

_START = 1_800_000_000 * SECOND  # wall microseconds
_OUTPUT = """\
reading part {part} of 4
parsed 120000 rows, skipped 7
\x1b[32mfitting\x1b[0m model, step 100 of 400
\x1b[32mfitting\x1b[0m model, step 200 of 400
\x1b[32mfitting\x1b[0m model, step 300 of 400
"""


class Showcase:
    """The store, and the clock by which it was made. The locks of the owners are held: they seem to live."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._elapsed = 0
        self._locks: list[int] = []
        store_dir.create_store_dirs(directory)
        self._store = open_store(directory, lambda _: None)
        self.context = Context(directory, self._store, self.now, "", "", (), lambda _: None)
        try:
            self._tell_the_story()
        except BaseException:
            self.close()
            raise

    def now(self) -> Now:
        """The clock."""
        return Now(_START + self._elapsed, 5000 * SECOND + self._elapsed, "boot")

    def reopen(self) -> Context:
        """Another connection, by the same clock."""
        return self.context._replace(store=open_store(self.directory, lambda _: None, False))

    def close(self) -> None:
        """Close the store, and let the owners seem dead."""
        self._store.close()
        for fd in self._locks:
            os.close(fd)

    def _tell_the_story(self) -> None:
        capacity.set_pool(self.context, "analysis", 2)
        capacity.set_pool(self.context, "gpu", 4)
        prepare = self._run("prepare", "python prepare.py")
        report = self._run("report", "make report")
        self._run("publish", "rsync report/ web:", after=(report,))
        shards = [
            self._run(f"shard-{n}", f"python shard.py {n}", after=(prepare,), pool="analysis")
            for n in range(1, 5)
        ]
        self._run("merge", "python merge.py", after=tuple(shards))
        self._add("train", "python train.py --epochs 40", priority=5)
        self._add(None, "python train.py --epochs 90")
        self._add(None, "echo [bold]no markup[/bold] 漢字")
        self._pass(2 * MINUTE)
        self._start(prepare)
        self._start(report)
        self._pass(70 * SECOND)
        self._end(report, "failure", 2)
        self._end(prepare, "success", 0)
        for part, shard in enumerate(shards, 1):
            if part <= 2:
                self._start(shard, _OUTPUT.format(part=part))
        self._pass(95 * SECOND)

    def _pass(self, us: int) -> None:
        self._elapsed += us

    def _run(self, name: str, command: str, after: tuple[int, ...] = (), pool: str = "") -> int:
        edges = tuple(WantedEdge(str(parent), ("success",)) for parent in after)
        submission = Submission(_spec(command), name, pool=pool, edges=edges)
        with self._store.writing():
            owner = self._owner(f"owner-{name}")
            job_id = intake.store_job(self.context, submission, owner, self.now())
        self._happen(job_id, Event("accepted", "waiting" if after else "queued"))
        self._pass(SECOND)
        return job_id

    def _owner(self, token: str) -> int:
        fd = locks.create(paths.owner_files(self.directory, token)[0])
        self._locks.append(fd)
        who = f"{4700 + len(self._locks)}:1:boot:1"
        return owners.register(self._store, "supervisor", token, who, locks.file_id(fd), "0", self.now())

    def _add(self, name: str | None, command: str, priority: int = 0) -> None:
        submission = Submission(_spec(command), name, queue="night", pool="gpu", priority=priority)
        with self._store.writing():
            intake.store_job(self.context, submission, None, self.now())
        self._pass(SECOND)

    def _job(self, job_id: int) -> Job:
        job = jobs.load(self._store, job_id)
        assert job is not None
        return job

    def _happen(self, job_id: int, event: Event) -> None:
        with self._store.writing():
            jobs.commit(self._store, [transitions.apply(self._job(job_id), event, self.now())], self.now())
            due.promote(self._store, self.now())

    def _start(self, job_id: int, output: str = "") -> None:
        job, now = self._job(job_id), self.now()
        log = log_of(job_id, 1)
        run = Run(job_id, 1, 1, job.round, f"run-{job_id}", log, now.wall)
        self._happen(job_id, Event("admitted", "starting", run=run, owner=job.owner))
        started = run._replace(started_at=now.wall, native_id="1:1", watch=Stopwatch().start(now))
        self._happen(job_id, Event("started", "running", run=started))
        _write(os.path.join(self.directory, log), output.encode(), now.wall)

    def _end(self, job_id: int, outcome: str, exit_code: int) -> None:
        run = jobs.load_run(self._store, job_id, 1)
        assert run is not None
        now = self.now()
        run = run._replace(
            outcome=outcome, exit_code=exit_code, finished_at=now.wall, watch=run.watch.halt(now)
        )
        self._happen(job_id, Event("ended", "completed", None, outcome, run=run))


def _spec(command: str) -> Spec:
    return Spec(tuple(map(os.fsencode, command.split())), b"/data", (), 0o022)


def _write(stem: str, output: bytes, wall: int) -> None:
    os.makedirs(os.path.dirname(stem), mode=0o700, exist_ok=True)
    streams = open_streams(stem, False)
    sampler = Sampler(stem, streams.ids)
    os.write(streams.out, output)
    sampler.close(wall)
    streams.close()


@contextmanager
def showcase(parent: Path) -> Iterator[Showcase]:
    """The store, in a new directory below `parent`."""
    found = Showcase(str(parent / "store"))
    try:
        yield found
    finally:
        found.close()

"""What has to hold after any death of any process of inturn, and targets that are witnesses of it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from inturn.app import open_context, recover
from inturn.core.job import Job
from inturn.service.context import Context
from inturn.store import jobs, owners
from inturn.store.db import Store
from tests.e2e.harness import Cli, until

# A target writes down that it starts and ends, and whether another run of its job is there at that moment:
# the lock on descriptor 9 is held by all that it starts, too.
_TARGET = """
exec 9>>"$WITNESS/$INTURN_JOB_ID.lock"
flock -n 9 || echo "$INTURN_RUN beside" >> "$WITNESS/$INTURN_JOB_ID"
echo "$INTURN_RUN start" >> "$WITNESS/$INTURN_JOB_ID"
{body}
echo "$INTURN_RUN end" >> "$WITNESS/$INTURN_JOB_ID"
{after}
"""


class Witnessed(NamedTuple):
    """What the targets of one job have written: the runs that started, that ended, that were not alone."""

    started: list[int]
    ended: list[int]
    beside: list[int]


class Aftermath:
    """A store whose processes die, and what is left of it."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.cli = Cli(root)
        self.witness = root / "witness"
        self.witness.mkdir()

    def target(self, body: str = ":", after: str = ":") -> list[str]:
        """The words of a command that bears witness around `body`; `after` is done when it has ended."""
        script = _TARGET.format(body=body, after=after)
        return ["--env", f"WITNESS={self.witness}", "-c", script]

    def open(self) -> Context:
        """The store, opened anew."""
        return open_context(str(self.cli.store), str(self.cli.config), False, lambda _: None)

    def recover(self) -> None:
        """As `inturn recover`, in this process, which is none of those that died."""
        context = self.open()
        if context.store is not None:
            recover(context)
            context.store.close()

    def jobs(self) -> list[Job]:
        """All jobs as they are now."""
        context = self.open()
        if context.store is None:
            return []
        found = [_load(context.store, job_id) for (job_id,) in context.store.execute("SELECT id FROM jobs")]
        context.store.close()
        return found

    def wait(self, deadline: float = 60.0) -> list[Job]:
        """Wait until every job has ended; all of them."""
        context = self.open()
        if context.store is None:
            return []
        try:
            until(lambda: _settled(context.store), f"the end of every job in {self.cli.root}", deadline)
        finally:
            context.store.close()
        return self.jobs()

    def seen(self, job_id: int) -> Witnessed:
        """What the targets of a job have told."""
        path = self.witness / str(job_id)
        lines = path.read_text().splitlines() if path.exists() else []
        told = [line.split(" ") for line in lines]
        return Witnessed(
            started=[int(run) for run, what in told if what == "start"],
            ended=[int(run) for run, what in told if what == "end"],
            beside=[int(run) for run, what in told if what == "beside"],
        )

    def assert_sound(self) -> None:
        """No job ran twice at a time, nor more often than is recorded; nothing and nobody is left."""
        self.assert_nothing_is_left()
        for job in self.jobs():
            self._assert_runs_are_recorded(job)

    def assert_nothing_is_left(self) -> None:
        """No process, no slot in use, no owner in the registry and none of its files."""
        until(self._no_process_is_left, f"the end of every process of {self.cli.root}")
        self._age_what_is_left()
        self.recover()
        context = self.open()
        if context.store is not None:
            store = context.store
            assert store.execute("SELECT * FROM admissions").fetchall() == []
            assert owners.all_of_them(store) == []
            assert store.row("SELECT count(*) FROM jobs WHERE owner IS NOT NULL") == (0,)
            assert store.row("PRAGMA integrity_check") == ("ok",)
            store.close()
            assert os.listdir(self.cli.store / "owners") == []

    def _no_process_is_left(self) -> bool:
        """Look, and pause if there are some: to look at all processes of the machine takes its time."""
        found = self.cli.processes()
        if found:
            time.sleep(0.1)
        return not found

    def _assert_runs_are_recorded(self, job: Job) -> None:
        seen = self.seen(job.id)
        assert seen.beside == [], f"job {job.id} ran twice at a time: {seen}"
        assert sorted(set(seen.started)) == seen.started, f"a run of job {job.id} started twice: {seen}"
        context = self.open()
        assert context.store is not None
        for number in seen.started:
            run = jobs.load_run(context.store, job.id, number)
            assert run is not None, f"run {number} of job {job.id} is not recorded"
            # One that was withdrawn has never been.
            assert run.started_at is not None or run.outcome == "lost", f"{run} has started"
        if job.outcome == "success":
            assert job.runs in seen.ended, f"job {job.id} is a success: {seen}"
        context.store.close()

    def _age_what_is_left(self) -> None:
        """Nobody is there any more: what lies around in `owners` may be swept at once."""
        place = self.cli.store / "owners"
        for path in place.iterdir() if place.exists() else ():
            past = time.time() - 3600
            os.utime(path, (past, past))


def _settled(store: Store | None) -> bool:
    assert store is not None
    return bool(store.row("SELECT count(*) = 0 FROM jobs WHERE phase <> 'completed'")[0])


def _load(store: Store, job_id: int) -> Job:
    job = jobs.load(store, job_id)
    assert job is not None
    return job

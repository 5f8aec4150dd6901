"""A store whose jobs are moved by hand, by the same transitions as an owner's: for tests of the use cases."""

from __future__ import annotations

import os
from pathlib import Path

from inturn.core import transitions
from inturn.core.job import Job, Run
from inturn.core.spec import Spec, Submission, WantedEdge
from inturn.core.transitions import Event
from inturn.host import clock, store_dir
from inturn.host.logs import Sampler, Streams, open_streams
from inturn.service import intake
from inturn.service.context import Context
from inturn.store import jobs, owners, specs
from inturn.store.db import open_store
from tests.builders import insert_job


class Scene:
    """One connection to the store in `directory`, as one process has it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        if store_dir.store_state(str(directory)) != "present":
            store_dir.create_store_dirs(str(directory))
        self.rung: list[str] = []
        self.notices: list[str] = []
        self.store = open_store(str(directory), self.rung.extend)
        self.context = Context(str(directory), self.store, clock.now, "", "", (), self.notices.append)

    def job(self, job_id: int) -> Job:
        """The job as it is now."""
        job = jobs.load(self.store, job_id)
        assert job is not None
        return job

    def run(self, job_id: int, number: int) -> Run:
        """One run as it is now."""
        run = jobs.load_run(self.store, job_id, number)
        assert run is not None
        return run

    def submit(self, name: str | None = None, gated: bool = False, merge: bool = False) -> int:
        """A supervised job, waiting if it is `gated`, else in line."""
        spec = Spec((b"true",), b"/", (), 0o077, merge_output=merge)
        with self.store.writing():
            count = self.store.row("SELECT count(*) FROM owners")[0]
            owner = owners.register(
                self.store, "supervisor", f"owner-{count}", "1:1:boot:1", (1, 1), "0", clock.now()
            )
            environment = specs.environment_id(self.store, ())
            job = insert_job(self.store, Submission(spec, name), gated, owner, environment, clock.now())
        self.happen(job.id, Event("accepted", "waiting" if gated else "queued"))
        return job.id

    def add(self, job_timeout: int | None = None, after_success: int | None = None) -> int:
        """A job in a queue that no worker serves."""
        spec = Spec((b"true",), b"/", (), 0o077, job_timeout=job_timeout)
        edges = () if after_success is None else (WantedEdge(str(after_success), ("success",)),)
        with self.store.writing():
            submission = Submission(spec, queue="default", edges=edges)
            return intake.store_job(self.context, submission, None, clock.now())

    def happen(self, job_id: int, event: Event) -> Job:
        """Commit one event."""
        now = clock.now()
        with self.store.writing():
            transition = transitions.apply(self.job(job_id), event, now)
            jobs.commit(self.store, [transition], now)
        return transition.after

    def admit(self, job_id: int) -> Run:
        """Let the next run begin; its target is not known yet."""
        job = self.job(job_id)
        number = job.runs + 1
        run = Run(
            job_id, number, job.attempts + 1, job.round, f"token-{job_id}-{number}",
            f"logs/{job_id}-{number}", clock.now().wall,
        )  # fmt: skip
        self.happen(job_id, Event("admitted", "starting", run=run, owner=job.owner))
        return run

    def start(self, job_id: int) -> Writer:
        """Let the next run begin, with a target that writes to its logs."""
        run = self.admit(job_id)._replace(started_at=clock.now().wall, native_id="x")
        self.happen(job_id, Event("started", "running", run=run))
        return Writer(self, run)

    def end(self, job_id: int, outcome: str = "success", repeat: bool = False, incomplete: int = 0) -> Job:
        """End the present run, and with it the job unless another one is to follow."""
        run = self.run(job_id, self.job(job_id).runs)
        run = run._replace(outcome=outcome, finished_at=clock.now().wall, log_incomplete=incomplete)
        event = (
            Event("repeated", "queued", run=run)
            if repeat
            else Event("ended", "completed", None, outcome, run=run)
        )
        return self.happen(job_id, event)

    def succeed(self, job_id: int) -> Job:
        """Run the job to its success, without output."""
        self.start(job_id).close()
        return self.end(job_id)

    def close(self) -> None:
        """Close the connection."""
        self.store.close()


class Writer:
    """The target of a run, and its owner that looks at the logs."""

    def __init__(self, scene: Scene, run: Run) -> None:
        self.run = run
        self.stem = str(scene.directory / run.log)
        merge = specs.load(scene.store, run.job_id).merge_output
        self.streams: Streams = open_streams(self.stem, merge)
        self._sampler = Sampler(self.stem, self.streams.ids)
        self._wall = 1_806_195_600_000_000

    def write(self, out: bytes = b"", err: bytes = b"") -> None:
        """Write, and have the logs looked at a quarter of a second later than the last time."""
        self.write_unseen(out, err)
        self._wall += 250_000
        self._sampler.sample(self._wall)

    def write_unseen(self, out: bytes = b"", err: bytes = b"") -> None:
        """Write between two looks."""
        for fd, data in ((self.streams.out, out), (self.streams.err, err)):
            if data:
                assert os.write(fd, data) == len(data)

    def close(self) -> None:
        """The end of the target and of its owner."""
        self._sampler.close(self._wall)
        self.streams.close()

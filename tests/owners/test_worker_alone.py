"""A worker that is alone with the store: what it commits itself moves its own jobs as well.

The version of the store tells of the commits of others only, and who is alone is told by nobody.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from inturn.core import transitions
from inturn.core.job import Condition, Job, Run
from inturn.core.moment import HOUR, MINUTE
from inturn.core.retry import Policy
from inturn.core.spec import Submission, WantedCondition
from inturn.core.transitions import Event
from inturn.engines.local import LocalEngine
from inturn.engines.process import parse_native_id
from inturn.host import clock, identity, locks, paths, store_dir, wake
from inturn.owners import recover
from inturn.owners.task import Task
from inturn.owners.tools import Tools
from inturn.owners.worker import Orders, Worker
from inturn.store import jobs, owners, specs
from inturn.store.db import Store, open_store
from tests.builders import insert_gates, insert_job, make_spec
from tests.e2e.harness import until
from tests.owners.life import Clock
from tests.tapped import tapped


class Workshop:
    """One worker with its store, in the directory `root`; `other` only looks."""

    def __init__(
        self,
        root: Path,
        drain: bool = True,
        engine: LocalEngine | None = None,
        clocks: Clock | None = None,
        **orders: Any,
    ) -> None:
        self.root = root
        self.clock = clocks or Clock()
        self.directory = str(root / "store")
        store_dir.create_store_dirs(self.directory)
        self.store = open_store(self.directory, lambda _: None)
        self.other = open_store(self.directory, lambda _: None)
        self._lock, me = self.register("worker")
        self._fifo = wake.create(paths.owner_files(self.directory, "worker")[1])
        engine = engine or LocalEngine()
        tools = Tools(self.store, engine, self.clock, clock.draw, self.directory, me, self._bury, alone=False)
        self.worker = Worker(tools, self._fifo, Orders({"default": None}, drain=drain, **orders))
        self.worker.begin()

    def register(self, token: str) -> tuple[int, int]:
        """An owner with its lock; the descriptor of that, and the owner's id."""
        lock = locks.create(paths.owner_files(self.directory, token)[0])
        who = identity.of(os.getpid())
        assert who is not None
        with self.store.writing():
            row = owners.register(
                self.store, "worker", token, who.text(), locks.file_id(lock), "0", self.clock()
            )
        return lock, row

    def _bury(self) -> None:
        kit = recover.Kit(
            self.store, LocalEngine(), self.clock, clock.draw, self.directory, lambda _: set(), lambda _: None
        )
        recover.reconcile(kit, owners.all_of_them(self.store))

    def add(
        self,
        script: str = "true",
        policy: Policy | None = None,
        after: Job | None = None,
        conditions: tuple[Condition, ...] = (),
        delay: int = 0,
        **fields: Any,
    ) -> Job:
        """A job in the worker's queue, as the worker itself might add it."""
        spec = make_spec(
            policy,
            argv=fields.pop("argv", (b"sh", b"-c", script.encode())),
            **fields,
            cwd=os.fsencode(self.root),
            environment=(b"PATH=" + os.environb[b"PATH"],),
        )
        gated = after is not None or bool(conditions)
        wanted = tuple(WantedCondition(one.kind, one.argument) for one in conditions)
        submission = Submission(spec, queue="default", conditions=wanted, delay=delay)
        with self.store.writing():
            environment = specs.environment_id(self.store, spec.environment)
            job = insert_job(self.store, submission, gated, None, environment, self.clock())
            insert_gates(self.store, job.id, {after.id: ("success", "aborted")} if after else {}, conditions)
        return job

    def job(self, job_id: int) -> Job:
        """A job as anybody sees it."""
        found = jobs.load(self.other, job_id)
        assert found is not None
        return found

    def runs(self, job_id: int) -> list[Run]:
        """Its runs as anybody sees them."""
        found = [jobs.load_run(self.other, job_id, number + 1) for number in range(self.job(job_id).runs)]
        return [run for run in found if run is not None]

    def work_until_ended(self, job_id: int) -> Job:
        """Let the worker do its rounds until this job has ended."""

        def look() -> bool:
            self.worker.turn()
            return self.job(job_id).phase == "completed"

        until(look, f"the end of job {job_id}", deadline=30)
        return self.job(job_id)

    def close(self) -> None:
        self.store.close()
        self.other.close()
        os.close(self._fifo)
        os.close(self._lock)


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("earlier", ["", "zz"])
def test_it_runs_what_was_delayed_before_a_reboot_though_nobody_commits_anything(
    tmp_path: Path, earlier: str
) -> None:
    workshop = Workshop(tmp_path, drain=False)
    try:
        job = workshop.add(delay=MINUTE)
        boot = earlier or f" {workshop.clock().boot}"  # before and behind ours in the index
        workshop.store.execute("UPDATE jobs SET due_boot = ?, due_at = due_at + ?", (boot, HOUR))
        workshop.worker.turn()
        assert workshop.job(job.id).phase == "queued"
        workshop.clock.ahead += MINUTE
        assert workshop.work_until_ended(job.id).outcome == "success"
    finally:
        workshop.close()


def test_it_goes_on_with_a_job_whose_conditions_it_minds_when_the_parent_has_ended(
    workshop: Workshop,
) -> None:
    (workshop.root / "there").touch()
    parent = workshop.add()
    child = workshop.add(after=parent, conditions=(Condition(0, 0, "file", b"there"),))
    assert workshop.work_until_ended(child.id).outcome == "success"


def test_it_does_not_leave_what_it_has_itself_let_in_since_it_found_its_queues_settled(
    workshop: Workshop,
) -> None:
    held = workshop.add(
        conditions=(Condition(0, 0, "file", b"never"),), wait_abort_at=workshop.clock().wall + HOUR
    )
    after_it = workshop.add(after=held)
    workshop.worker.turn()
    workshop.clock.ahead += HOUR
    while not workshop.worker.finished():
        workshop.worker.turn()
    assert [workshop.job(one.id).outcome for one in (held, after_it)] == ["aborted", "success"]


def test_it_claims_what_it_has_put_back_in_line_for_a_dead_worker(workshop: Workshop) -> None:
    lock, dead = workshop.register("dead")
    job = workshop.add()
    run = Run(job.id, 1, 1, 1, "nothing", "logs/0/nothing", workshop.clock().wall)
    with workshop.store.writing():
        admitted = transitions.apply(
            job, Event("admitted", "starting", run=run, owner=dead), workshop.clock()
        )
        jobs.commit(workshop.store, [admitted], workshop.clock())
    os.close(lock)
    workshop.worker.turn()
    workshop.clock.ahead += 2 * owners.RENEW_EVERY
    assert workshop.work_until_ended(job.id).outcome == "success"
    assert [run.outcome for run in workshop.runs(job.id)] == ["cancelled", "success"]


def test_it_outlives_a_job_that_cannot_be_started_however_often_it_is_tried_at_once(
    workshop: Workshop,
) -> None:
    many = Policy(run_limit=400, failure_limit=400)
    hopeless = workshop.add(policy=many, argv=(b"/there/is/no/such/program",))
    after_it = workshop.add()
    assert workshop.work_until_ended(after_it.id).outcome == "success"
    assert workshop.work_until_ended(hopeless.id).outcome == "failure"
    assert workshop.job(hopeless.id).runs == 400


@pytest.mark.parametrize("number", range(1, 13))
def test_a_job_that_it_has_claimed_again_is_run_once_a_run_whatever_fails_then(
    workshop: Workshop, number: int
) -> None:
    job = workshop.add('echo "$INTURN_RUN" >> ran; exit 1', Policy(run_limit=5, failure_limit=5))
    left = number

    def ask(sql: str) -> None:
        nonlocal left
        # From the first end of a run on, which claims the job again, one statement fails.
        if workshop.job(job.id).runs > 1 and sql not in ("COMMIT", "ROLLBACK"):
            left -= 1
            if left == 0:
                raise apsw.IOError("disk I/O error")

    with tapped(workshop.store, ask):
        assert workshop.work_until_ended(job.id).outcome == "failure"
    started = [run.number for run in workshop.runs(job.id) if run.outcome == "failure"]
    assert [int(line) for line in (workshop.root / "ran").read_text().split()] == started
    assert len(started) == 5


def _begin(workshop: Workshop, script: str) -> tuple[Job, int]:
    """A job that runs, and has said so; and the process that it is."""
    job = workshop.add(f"echo >> ran; {script}")

    def runs() -> bool:
        workshop.worker.turn()
        return workshop.job(job.id).phase == "running" and (workshop.root / "ran").exists()

    until(runs, "the run")
    return job, parse_native_id(workshop.runs(job.id)[0].native_id).leader.pid


def _await_end(pid: int) -> None:
    """Wait for the end of a process, and leave it to be reaped."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize(("code", "outcome"), [(0, "success"), (3, "failure")])
def test_a_run_that_ended_before_it_was_told_twice_to_stop_counts_as_it_ended(
    workshop: Workshop, code: int, outcome: str
) -> None:
    job, pid = _begin(workshop, f"until [ -e go ]; do sleep 0.01; done; exit {code}")
    (workshop.root / "go").touch()
    _await_end(pid)
    workshop.worker.ask_to_stop()
    workshop.worker.ask_to_stop()
    until(lambda: workshop.worker.turn() or workshop.worker.finished(), "the end of the worker")
    assert workshop.job(job.id).outcome == outcome
    assert [run.exit_code for run in workshop.runs(job.id)] == [code]


def test_a_run_that_may_have_been_told_to_stop_by_a_former_owner_is_put_back_however_it_ended(
    workshop: Workshop,
) -> None:
    job, pid = _begin(workshop, "trap 'exit 0' TERM; until [ -e go ]; do sleep 0.01; done; exit 0")
    (former,) = workshop.worker.tasks
    former.stop("requeued")
    heir = Task(workshop.worker._tools, workshop.job(job.id))
    workshop.worker.tasks[:] = [heir]
    os.killpg(pid, signal.SIGTERM)
    _await_end(pid)

    def is_let_go() -> bool:
        heir.advance()
        return heir.done

    until(is_let_go, "that it is out of its hands")
    assert (workshop.job(job.id).phase, workshop.job(job.id).owner) == ("queued", None)
    assert [run.outcome for run in workshop.runs(job.id)] == ["cancelled"]
    for task in (former, heir):
        task.let_go()
        task.put_away()
    (workshop.root / "go").touch()
    assert workshop.work_until_ended(job.id).outcome == "success"


def test_a_job_that_is_gone_before_it_has_looked_again_is_none_of_its_business(workshop: Workshop) -> None:
    gone = workshop.add(conditions=(Condition(0, 0, "file", b"never"),))
    workshop.worker.turn()
    now = workshop.clock()
    with workshop.other.writing():
        cancelled = Event("cancelled", "completed", "requested", "cancelled")
        jobs.commit(workshop.other, [transitions.apply(workshop.job(gone.id), cancelled, now)], now)
        workshop.other.execute("DELETE FROM jobs WHERE id = ?", (gone.id,))
    after_it = workshop.add()
    assert workshop.work_until_ended(after_it.id).outcome == "success"


def test_a_run_that_it_does_not_know_to_have_claimed_is_not_taken_for_the_one_before(
    workshop: Workshop,
) -> None:
    twice = Policy(success_target=2, run_limit=None, failure_limit=None)
    job = workshop.add('echo "$INTURN_RUN" >> ran', twice)
    with _unheard_once(workshop.store, lambda: workshop.job(job.id).runs == 2):
        assert workshop.work_until_ended(job.id).outcome == "success"
    runs = workshop.runs(job.id)
    assert [run.outcome for run in runs] == ["success", "cancelled", "success"]
    assert (workshop.root / "ran").read_text().split() == ["1", "3"]


@contextmanager
def _unheard_once(store: Store, reached: Callable[[], bool]) -> Iterator[None]:
    """The first COMMIT after which `reached` is true seems to fail, though it has been done."""
    happened = False

    def ask(sql: str) -> None:
        nonlocal happened
        if sql == "COMMIT" and not happened:
            below.execute("COMMIT")
            happened = reached()
            if happened:
                raise apsw.IOError("disk I/O error")
            below.execute("BEGIN")  # for the COMMIT that follows

    with tapped(store, ask) as below:
        yield
    assert happened

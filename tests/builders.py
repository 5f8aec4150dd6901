"""Jobs, runs, gates and stores as tests need them: complete and consistent, what matters to a test named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from inturn.core import transitions
from inturn.core.job import ACTIVE, Condition, Edge, Job, Run
from inturn.core.moment import SECOND, Deadline, Now, Stopwatch
from inturn.core.retry import Policy
from inturn.core.spec import Spec, Submission
from inturn.core.transitions import Event, Transition
from inturn.store import jobs, newcomers, owners, specs
from inturn.store.db import Store, open_store

BOOT = "0f1e2d3c-present"
START = Now(wall=1_800_000_000 * SECOND, mono=5_000 * SECOND, boot=BOOT)


def later(elapsed: int, since: Now = START) -> Now:
    """The clocks after `elapsed` microseconds."""
    return Now(since.wall + elapsed, since.mono + elapsed, since.boot)


def make_spec(policy: Policy | None = None, **fields: Any) -> Spec:
    """A specification of a command that matters to nobody."""
    wanted = {"argv": (b"true",), "cwd": b"/", "environment": (b"PATH=/bin",), "umask": 0o22, **fields}
    return Spec(policy=policy or Policy(), **wanted)


def make_submission(spec: Spec | None = None, **fields: Any) -> Submission:
    """One job as it is asked for; `queue` makes it a queued one."""
    return Submission(spec or make_spec(), **fields)


def make_job(phase: str = "queued", now: Now = START, **fields: Any) -> Job:
    """A supervised job in `phase`, with id and owner; one of a `queue` has an owner while it is active."""
    job = transitions.submit(make_submission(), False, 1, now)
    wanted: dict[str, Any] = {"id": 7, "phase": phase, "in_line": int(phase == "queued")}
    held = fields.get("held_phase", "queued")
    active = phase in ACTIVE or (phase == "paused" and held in ACTIVE)
    if fields.get("queue") and not active:
        wanted |= {"owner": None, "epoch": 0}
    if phase == "paused":
        wanted |= {"held_phase": held, "watch": job.watch.halt(now)}
    if active:
        wanted |= {"attempts": 1, "runs": 1, "started_at": now.wall}
    if phase == "stopping":
        wanted["stop_reason"] = "cancelled"
    if phase == "completed":
        wanted |= {"outcome": "success", "owner": None, "completed_at": now.wall}
        wanted["watch"] = job.watch.halt(now)
    return job._replace(**(wanted | fields))


def make_run(job: Job | None = None, **fields: Any) -> Run:
    """The first run of a job, reserved and not started."""
    wanted = {
        "job_id": job.id if job else 7,
        "number": 1,
        "attempt": 1,
        "round": 1,
        "admitted_at": START.wall,
    }
    return Run(**{**wanted, "token": "c0ffee", "log": "logs/0/7.1", **fields})


def running(run: Run, now: Now = START) -> Run:
    """The run, with its target started at `now`."""
    return run._replace(native_id="123:456", started_at=now.wall, watch=Stopwatch().start(now))


def ended(run: Run, outcome: str, now: Now = START, **fields: Any) -> Run:
    """The run, with its outcome."""
    return run._replace(outcome=outcome, finished_at=now.wall, watch=run.watch.halt(now), **fields)


def make_edge(outcomes: tuple[str, ...] = ("success",), **fields: Any) -> Edge:
    """A dependency of job 7 on job 3, which runs."""
    return Edge(**{"job_id": 7, "parent_id": 3, "outcomes": outcomes, "parent_phase": "running", **fields})


def judged_edge(outcome: str, completed_at: int = START.wall, **fields: Any) -> Edge:
    """A dependency with its receipt."""
    receipt = {"observed_outcome": outcome, "observed_revision": 4, "observed_at": START.wall}
    return make_edge(parent_phase="completed", observed_completed_at=completed_at, **{**receipt, **fields})


def make_condition(kind: str = "file", **fields: Any) -> Condition:
    """A wait condition of job 7."""
    return Condition(**{"job_id": 7, "position": 0, "kind": kind, "argument": b"/there", **fields})


# Ends any job that has no target.
CANCEL = Event("cancelled", "completed", "requested", "cancelled")


class Ring:
    """Stands for the owners' FIFOs: remembers who was told, commit by commit."""

    def __init__(self) -> None:
        self.told: list[set[str]] = []

    def __call__(self, tokens: Any) -> None:
        self.told.append(set(tokens))


def new_store(directory: Path, ring: Ring | None = None) -> Store:
    """A new store, or another connection to one that is there."""
    return open_store(str(directory), ring or Ring())


def add_owner(store: Store, token: str, kind: str = "supervisor", now: Now = START) -> int:
    """Register an owner in the present transaction; returns its id."""
    return owners.register(store, kind, token, "1:2:boot:4", (5, 6), "0", now)


def add_worker(store: Store, token: str, queue: str = "default") -> int:
    """Register an idle worker with one place for one queue, in the present transaction; returns its id."""
    worker = add_owner(store, token, "worker")
    owners.serve(store, worker, {queue: None}, 1)
    return worker


def insert_job(
    store: Store, submission: Submission, gated: bool, owner: int | None, environment: int, now: Now
) -> Job:
    """Store one new job, without its gates, in the present transaction."""
    draft = newcomers.draft(submission, gated, owner is not None, now)
    (job_id,) = newcomers.insert_all(store, [draft], [owner], [environment], now)
    return transitions.submit(submission, gated, owner, now)._replace(id=job_id)


def insert_gates(
    store: Store, job_id: int, edges: Mapping[int, tuple[str, ...]], conditions: Iterable[Condition]
) -> None:
    """Store what one new job waits for, in the present transaction."""
    own = [condition._replace(job_id=job_id) for condition in conditions]
    newcomers.insert_gates(store, [(job_id, parent, outcomes) for parent, outcomes in edges.items()], own)
    store.execute("UPDATE jobs SET conditional = ? WHERE id = ?", (int(bool(own)), job_id))


def add_job(
    store: Store,
    submission: Submission | None = None,
    owner: int | None = None,
    edges: dict[int, tuple[str, ...]] | None = None,
    conditions: tuple[Condition, ...] = (),
    now: Now = START,
) -> Job:
    """Store a job in the present transaction; with an `owner` it is accepted at once."""
    asked = submission or make_submission(queue="" if owner else "default")
    gated = bool(edges or conditions)
    environment = specs.environment_id(store, asked.spec.environment)
    job = insert_job(store, asked, gated, owner, environment, now)
    insert_gates(store, job.id, edges or {}, conditions)
    if owner is None:
        return job
    return commit(store, job, Event("accepted", "waiting" if gated else "queued"), now, owner).after


def commit(store: Store, job: Job, event: Event, now: Now = START, me: int | None = None) -> Transition:
    """Apply an event to a job and commit it in the present transaction."""
    transition = transitions.apply(job, event, now)
    jobs.commit(store, [transition], now, me)
    return transition


def admit(store: Store, job: Job, owner: int | None = None, now: Now = START) -> Job:
    """Give a job its slots, whatever the rule says, in the present transaction."""
    run = make_run(job, number=job.runs + 1, attempt=job.attempts + 1, admitted_at=now.wall)
    event = Event("admitted", "starting", run=run, owner=job.owner if owner is None else owner)
    return commit(store, job, event, now, owner).after


def at(now: Now) -> Deadline:
    """The instant of a reading, by elapsed time."""
    return Deadline(now.wall, now.boot, now.mono)


def supervised(store: Store, token: str = "mine", **fields: Any) -> tuple[Job, int]:
    """A supervised job that stands in line, and its owner."""
    owner = add_owner(store, token)
    return add_job(store, make_submission(**fields), owner), owner


def finish(store: Store, job: Job, me: int | None = None, outcome: str = "success") -> Job:
    """End a job that is starting or running."""
    run = ended(running(make_run(job, number=job.runs, attempt=job.attempts)), outcome)
    return commit(store, job, Event("ended", "completed", None, outcome, run=run), START, me).after


def reread(store: Store, job: Job) -> Job:
    """The job as it is now."""
    found = jobs.load(store, job.id)
    assert found is not None
    return found


def tallies(store: Store) -> dict[tuple[str, str, str], int]:
    """How many jobs the counters say there are, by queue, pool and status."""
    rows = store.execute("SELECT queue, pool, status, jobs FROM tallies WHERE jobs <> 0")
    return {(queue, pool, status): number for queue, pool, status, number in rows}


def counted(store: Store) -> dict[tuple[str, str, str], int]:
    """The same by counting them."""
    rows = store.execute("SELECT queue, pool, status, count(*) FROM jobs GROUP BY queue, pool, status")
    return {(queue, pool, status): number for queue, pool, status, number in rows}

"""The whole store as one commit has left it, read so that what has not changed costs little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inturn.core.job import Job, Run
from inturn.store.rows import SELECT_JOB, SELECT_RUN, job_from, run_from

if TYPE_CHECKING:
    from inturn.store.db import Store

    Key = tuple[int, int]


class Admission(NamedTuple):
    job_id: int
    run: int
    owner: int
    pool: str
    queue: str
    slots: int
    throttle: int
    devices: str


class Event(NamedTuple):
    id: int
    job_id: int
    kind: str
    source: str | None
    target: str
    reason: str | None
    run: int | None


class Receipt(NamedTuple):
    outcome: str | None
    revision: int | None
    completed_at: int | None
    observed_at: int | None


class OwnerRow(NamedTuple):
    id: int
    kind: str
    accepting: int
    places: int
    silent: int
    gone_at: int | None


class PoolRow(NamedTuple):
    name: str
    slots: int | None
    devices: str
    per_device: int


class Snapshot(NamedTuple):
    """Everything that the invariants look at; `events` are those since the snapshot before."""

    jobs: dict[int, Job]
    runs: dict[Key, Run]
    admissions: dict[int, Admission]
    receipts: dict[Key, Receipt]
    events: list[Event]
    tallies: dict[tuple[str, str, str], int]
    owners: dict[int, OwnerRow]
    serves: list[tuple[int, str, int | None]]
    pools: dict[str, PoolRow]
    arrays: dict[int, int | None]
    held: frozenset[tuple[str, str]]
    raw_jobs: dict[int, tuple[Any, ...]]
    raw_runs: dict[Key, tuple[Any, ...]]
    last_event: int


EMPTY = Snapshot({}, {}, {}, {}, [], {}, {}, [], {}, {}, frozenset(), {}, {}, 0)

_ADMISSIONS = "SELECT job_id, run, owner, pool, queue, slots, throttle, devices FROM admissions"
_EVENTS = "SELECT id, job_id, kind, source, target, reason, run FROM events WHERE id > ? ORDER BY id"
_RECEIPTS = """
    SELECT job_id, parent_id, observed_outcome, observed_revision, observed_completed_at, observed_at
    FROM edges
"""
_OWNERS = "SELECT id, kind, accepting, places, silent, gone_at FROM owners"


def take(store: Store, before: Snapshot) -> Snapshot:
    """The store as it is now; records that are as in the snapshot before are taken from there."""
    jobs: dict[int, Job] = {}
    raw_jobs = {}
    for row in store.execute(SELECT_JOB):
        job_id = row[0]
        raw_jobs[job_id] = row
        jobs[job_id] = before.jobs[job_id] if before.raw_jobs.get(job_id) == row else job_from(row)
    runs: dict[Key, Run] = {}
    raw_runs = {}
    for row in store.execute(SELECT_RUN):
        key = row[:2]
        raw_runs[key] = row
        runs[key] = before.runs[key] if before.raw_runs.get(key) == row else run_from(row)
    events = [Event(*row) for row in store.execute(_EVENTS, (before.last_event,))]
    return Snapshot(
        jobs,
        runs,
        {row[0]: Admission(*row) for row in store.execute(_ADMISSIONS)},
        {row[:2]: Receipt(*row[2:]) for row in store.execute(_RECEIPTS)},
        events,
        {row[:3]: row[3] for row in store.execute("SELECT queue, pool, status, jobs FROM tallies")},
        {row[0]: OwnerRow(*row) for row in store.execute(_OWNERS)},
        _rows(store, "SELECT owner, queue, ceiling FROM worker_queues"),
        {
            row[0]: PoolRow(*row)
            for row in store.execute("SELECT name, slots, devices, per_device FROM pools")
        },
        dict(_rows(store, "SELECT id, at_once FROM arrays")),
        frozenset(store.execute("SELECT kind, name FROM held")),
        raw_jobs,
        raw_runs,
        events[-1].id if events else before.last_event,
    )


def _rows(store: Store, query: str) -> list[Any]:
    return list(store.execute(query))

"""What is read only to be looked at. Nothing here writes; the caller has one read transaction open."""

from __future__ import annotations

from inturn.core.admission import STORE, Request
from inturn.core.job import ACTIVE, OUTCOMES
from inturn.core.views import Holder, Keeper, LedgerEntry, Scope, View, as_of
from inturn.store import admissions, held, settings
from inturn.store.rows import (
    SELECT_CONDITION,
    SELECT_EDGE,
    SELECT_JOB,
    SELECT_RUN,
    condition_from,
    edge_from,
    job_from,
    run_from,
)
from inturn.store.settings import Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.views import Filters
    from inturn.store.db import Store

# Jobs whose details are fetched together.
BATCH = 500

_COMPLETED_WORDS = frozenset((*OUTCOMES, "ended", "unsuccessful"))

# A queued job's time has come, though nobody may have moved it to the line yet: see due.promote.
_DUE = "(next_run_at <= ? AND due_boot <> ? OR due_at <= ? AND due_boot = ?)"

_SELECT_KEEPER = f"SELECT {', '.join(Keeper._fields)} FROM owners"
_SELECT_ENTRY = "SELECT id, job_id, at, kind, source, target, reason, run FROM events"
_SELECT_HOLDER = """
    SELECT jobs.id, jobs.name, admissions.slots, admissions.pool, admissions.queue, run, devices, granted_at
    FROM admissions JOIN jobs ON jobs.id = admissions.job_id
"""


def newest(store: Store, filters: Filters, now: Now, limit: int | None) -> Iterator[Job]:
    """The jobs that pass the filters, newest first, at most `limit` of them (None: all), as of `now`.

    Without filters this walks the primary key backwards and stops at the limit, whatever the store holds.
    """
    where, values = _conditions(filters, now)
    source = SELECT_JOB
    if filters.statuses and not _COMPLETED_WORDS.intersection(filters.statuses):
        where.append("phase <> 'completed'")
        if not (filters.names or filters.tags or filters.arrays):
            # The live are few beside those that have ended; the planner has no statistics to know it.
            source += " INDEXED BY jobs_live"
    if where:
        source += " WHERE " + " AND ".join(where)
    rows = store.execute(source + " ORDER BY id DESC LIMIT ?", (*values, -1 if limit is None else limit))
    return (as_of(job_from(row), now) for row in rows)


def _conditions(filters: Filters, now: Now) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    columns: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("queue", filters.queues),
        ("pool", filters.pools),
        ("name", filters.names),
        ("array_id", filters.arrays),
    )
    for column, wanted in columns:
        if wanted:
            where.append(f"{column} IN ({', '.join('?' * len(wanted))})")
            values.extend(wanted)
    if filters.below is not None:
        where.append("jobs.id < ?")
        values.append(filters.below)
    for parts, bindings in (_tag_conditions(filters), _status_conditions(filters, now)):
        if parts:
            where.append(f"({' OR '.join(parts)})")
            values.extend(bindings)
    return where, values


def _tag_conditions(filters: Filters) -> tuple[list[str], list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    for tag, value in filters.tags:
        only = "" if value is None else " AND value = ?"
        parts.append(f"jobs.id IN (SELECT job_id FROM tags WHERE tag = ?{only})")
        values.extend((tag,) if value is None else (tag, value))
    return parts, values


def _status_conditions(filters: Filters, now: Now) -> tuple[list[str], list[Any]]:
    due = (now.wall, now.boot, now.mono, now.boot)
    parts: list[str] = []
    values: list[Any] = []
    for word in filters.statuses:
        if word == "live":
            parts.append("phase <> 'completed'")
        elif word == "active":
            holding = ", ".join(f"'{phase}'" for phase in ACTIVE)
            parts.append(f"phase IN ({holding}) OR phase = 'paused' AND held_phase IN ({holding})")
        elif word == "ended":
            parts.append("phase = 'completed'")
        elif word == "unsuccessful":
            parts.append("outcome <> 'success'")
        elif word == "queued":
            parts.append(f"phase = 'queued' AND (in_line > 0 OR {_DUE})")
            values.extend(due)
        elif word in ("scheduled", "backoff"):
            ran = "= 0" if word == "scheduled" else "> 0"
            parts.append(f"phase = 'queued' AND in_line = 0 AND attempts {ran} AND NOT {_DUE}")
            values.extend(due)
        else:
            parts.append("outcome = ?" if word in OUTCOMES else "phase = ?")
            values.append(word)
    return [f"({part})" for part in parts], values


def views(store: Store, jobs: Iterable[Job], detailed: bool) -> Iterator[View]:
    """The jobs with what belongs to them, in their order.

    Not `detailed`: with their command, their last run and their owner only.
    """
    batch: list[Job] = []
    for job in jobs:
        batch.append(job)
        if len(batch) == BATCH:
            yield from _views(store, batch, detailed)
            batch = []
    if batch:
        yield from _views(store, batch, detailed)


def _views(store: Store, jobs: Sequence[Job], detailed: bool) -> Iterator[View]:
    ids = tuple(job.id for job in jobs)
    within = f"IN ({', '.join('?' * len(ids))})"
    commands = dict(store.execute(f"SELECT job_id, argv FROM specs WHERE job_id {within}", ids))
    last = "" if detailed else " AND number = (SELECT jobs.runs FROM jobs WHERE jobs.id = runs.job_id)"
    runs = _grouped(map(run_from, store.execute(f"{SELECT_RUN} WHERE job_id {within}{last}", ids)))
    owners = keepers(store, {job.owner for job in jobs if job.owner is not None})
    edges, conditions, tags = _gates_and_tags(store, ids, within) if detailed else ({}, {}, {})
    for job in jobs:
        yield View(
            job,
            tuple(commands[job.id].split(b"\0")),
            tuple(sorted(runs.get(job.id, ()), key=lambda run: run.number)),
            owners.get(job.owner),
            tuple(edges.get(job.id, ())),
            tuple(conditions.get(job.id, ())),
            tuple(tags.get(job.id, ())),
        )


def keepers(store: Store, owners: set[int]) -> dict[int | None, Keeper]:
    """The owners with these ids, as far as they are still registered."""
    marks = ", ".join("?" * len(owners))
    rows = store.execute(f"{_SELECT_KEEPER} WHERE id IN ({marks})", tuple(owners))
    return {row[0]: Keeper(*row) for row in rows}


def _gates_and_tags(
    store: Store, ids: tuple[int, ...], within: str
) -> tuple[dict[int, list[Any]], dict[int, list[Any]], dict[int, list[Any]]]:
    edges = store.execute(f"{SELECT_EDGE} WHERE edges.job_id {within} ORDER BY edges.job_id, parent_id", ids)
    conditions = store.execute(f"{SELECT_CONDITION} WHERE job_id {within} ORDER BY job_id, position", ids)
    tags: dict[int, list[Any]] = {}
    for job_id, tag, value in store.execute(
        f"SELECT job_id, tag, value FROM tags WHERE job_id {within} ORDER BY job_id, tag", ids
    ):
        tags.setdefault(job_id, []).append((tag, value))
    return _grouped(map(edge_from, edges)), _grouped(map(condition_from, conditions)), tags


def _grouped(records: Iterable[Any]) -> dict[int, list[Any]]:
    """Records by their job."""
    groups: dict[int, list[Any]] = {}
    for record in records:
        groups.setdefault(record.job_id, []).append(record)
    return groups


def key(store: Store, job_id: int) -> str | None:
    """The idempotency key of a job; one that has ended has given it back."""
    row = store.row("SELECT key FROM keys WHERE job_id = ?", (job_id,))
    return None if row is None else str(row[0])


def admission(store: Store, job_id: int) -> Holder | None:
    """The slots that a job holds."""
    row = store.row(_SELECT_HOLDER + " WHERE jobs.id = ?", (job_id,))
    return None if row is None else Holder(*row)


def holders(store: Store, queue: str | None = None, array: int | None = None) -> list[Holder]:
    """Who holds slots, the longest first: all, those of a queue, or those of an array with a throttle."""
    where = ""
    values: tuple[Any, ...] = ()
    if queue is not None:
        where, values = " WHERE admissions.queue = ?", (queue,)
    elif array is not None:
        where, values = " WHERE admissions.throttle = ?", (array,)
    rows = store.execute(f"{_SELECT_HOLDER}{where} ORDER BY granted_at, jobs.id", values)
    return [Holder(*row) for row in rows]


def named(store: Store, name: str, limit: int) -> list[tuple[int, str, bool]]:
    """Id, status and whether it has ended of jobs with this name: the live first, the newest first of each.

    One statement, so that it sees one state of the store outside a transaction as well.
    """
    rows = store.execute(
        """
        SELECT id, status, phase = 'completed' FROM jobs WHERE name = ?
        ORDER BY phase = 'completed', id DESC LIMIT ?
        """,
        (name, limit),
    )
    return [(job_id, status, bool(ended)) for job_id, status, ended in rows]


def array_members(store: Store, array_id: int) -> list[int]:
    """The jobs of an array, in the order of their ids; none if there is no such array."""
    return [
        job_id
        for (job_id,) in store.execute("SELECT id FROM jobs WHERE array_id = ? ORDER BY id", (array_id,))
    ]


def array_member(store: Store, array_id: int, index: int) -> int | None:
    """The job of an array that has this index."""
    row = store.row("SELECT id FROM jobs WHERE array_id = ? AND array_index = ?", (array_id, index))
    return None if row is None else int(row[0])


def is_array(store: Store, job_id: int) -> bool:
    """Whether this is the id of an array: that of its first job."""
    return store.row("SELECT 1 FROM arrays WHERE id = ?", (job_id,)) is not None


def array_named(store: Store, name: str) -> int | None:
    """The array to which all jobs with this name belong, or None."""
    rows = store.execute("SELECT DISTINCT array_id FROM jobs WHERE name = ? LIMIT 2", (name,)).fetchall()
    return int(rows[0][0]) if len(rows) == 1 and rows[0][0] is not None else None


def newest_named(store: Store, name: str) -> int | None:
    """The id of the newest job with this name."""
    row = store.row("SELECT id FROM jobs WHERE name = ? ORDER BY id DESC LIMIT 1", (name,))
    return None if row is None else int(row[0])


def events(store: Store, since: int, job_id: int | None, limit: int | None) -> Iterator[LedgerEntry]:
    """The ledger after the event `since`, of one job or of all, oldest first."""
    only = "" if job_id is None else " AND job_id = ?"
    values = (since,) if job_id is None else (since, job_id)
    rows = store.execute(
        f"{_SELECT_ENTRY} WHERE id > ?{only} ORDER BY id LIMIT ?", (*values, -1 if limit is None else limit)
    )
    return (LedgerEntry(*row) for row in rows)


def counts(store: Store, now: Now) -> dict[tuple[str, str, str], int]:
    """How many jobs have each status as of `now`, by (queue, pool, status), from the counters.

    Rows whose time has come count as queued although nobody has moved them to the line yet; only those are
    looked at one by one, through the index of what is due.
    """
    found = {(queue, pool, status): jobs for queue, pool, status, jobs in _tallies(store)}
    for queue, pool, ran, jobs in _overdue(store, now):
        found[queue, pool, "backoff" if ran else "scheduled"] -= jobs
        found[queue, pool, "queued"] = found.get((queue, pool, "queued"), 0) + jobs
    return found


def _tallies(store: Store) -> Iterable[tuple[str, str, str, int]]:
    return store.execute("SELECT queue, pool, status, jobs FROM tallies WHERE jobs > 0")


def _overdue(store: Store, now: Now) -> Iterator[tuple[str, str, bool, int]]:
    """Queue, pool, whether it has run, and number of queued jobs that are due and not in line yet."""
    for condition, values in (
        ("due_boot = ? AND due_at <= ?", (now.boot, now.mono)),
        ("due_boot = ? AND due_at <= ?", ("", now.wall)),
        ("due_boot > ? AND due_boot < ? AND next_run_at <= ?", ("", now.boot, now.wall)),
        ("due_boot > ? AND next_run_at <= ?", (now.boot, now.wall)),
    ):
        yield from store.execute(
            f"""
            SELECT queue, pool, attempts > 0, count(*) FROM jobs INDEXED BY jobs_due
            WHERE phase = 'queued' AND in_line = 0 AND {condition} GROUP BY 1, 2, 3
            """,
            values,
        )


def scopes(store: Store, tallied: Mapping[tuple[str, str, str], int]) -> list[Scope]:
    """The store-wide limit first, then the pools by name. `tallied` is what `counts` gave."""
    taken = holders(store)
    waiting: dict[str, int] = {}
    for (_, its_pool, status), jobs in tallied.items():
        if status == "queued":
            for scope in {STORE, its_pool}:
                waiting[scope] = waiting.get(scope, 0) + jobs
    limits = {pool.name: pool for pool in settings.pools(store)}
    paused = held.load(store).pools
    limits.setdefault(STORE, Pool(STORE, None, False))
    found = []
    for name, pool in sorted(limits.items()):
        mine = tuple(holder for holder in taken if name in (STORE, holder.pool))
        used = sum(holder.slots for holder in mine)
        in_line = waiting.get(name, 0)
        found.append(
            Scope(name, pool.slots, pool.declared, used, in_line, mine, pool.devices, name in paused)
        )
    return found


def ahead(
    store: Store, request: Request, everywhere: bool, limit: int, most: int
) -> tuple[int, list[tuple[Request, str | None]]]:
    """How many requests stand before this one in line, and the first `limit` of them with their names.

    `everywhere`: in the whole store, else among those for the same pool. They are counted to `most` and one
    more, class by class, each a range of the line's index: nobody's place makes a look at the line long.
    """
    total = 0
    first: list[tuple[Request, str | None]] = []
    for standing in admissions.heads(store, None if everywhere else request.pool):
        head = standing.request
        alike = (head.pool, standing.queue, head.throttle, head.slots)
        for older, values in (
            ("priority > ?", (request.priority,)),
            ("priority = ? AND next_run_at < ?", (request.priority, request.next_run_at)),
            ("priority = ? AND next_run_at = ? AND id < ?", (request.priority, *request.place[1:])),
        ):
            some = (
                f"FROM jobs WHERE in_line = 1 AND (pool, queue, throttle, slots) = (?, ?, ?, ?) AND {older}"
            )
            counted = f"SELECT count(*) FROM (SELECT 1 {some} LIMIT ?)"
            total += store.row(counted, (*alike, *values, most + 1 - total))[0]
            rows = store.execute(
                f"""
                SELECT name, id, priority, next_run_at, slots, pool, bypass_count {some}
                ORDER BY priority DESC, next_run_at, id LIMIT ?
                """,
                (*alike, *values, limit),
            )
            first += [(Request(*fields), name) for name, *fields in rows]
    return total, sorted(first, key=lambda each: each[0].place)[:limit]

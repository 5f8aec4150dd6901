"""Slots: who holds them, who stands in line, and the transaction that settles the race for them."""

from __future__ import annotations

from inturn.core.admission import STORE, Capacity, Decision, Request, admissible, decide
from inturn.core.job import IN_LINE, SILENT
from inturn.core.moment import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.store.db import Store

# An owner that has left an offer unanswered for so long (µs) does not compete until it shows up again.
PATIENCE = 10 * SECOND

# Rows whose time has come, moved to the line in one transaction: a bound on how long the write lock is held.
PROMOTE_AT_MOST = 2000

_HEAD = """
    SELECT id, priority, next_run_at, slots, pool, bypass_count, queue FROM jobs
    WHERE in_line = 1 AND (pool, queue, slots) > (?, ?, ?)
    ORDER BY pool, queue, slots, priority DESC, next_run_at, id LIMIT 1
"""


def capacity(store: Store) -> Capacity:
    """The finite limits, and the slots in use of each scope."""
    limits = dict(store.execute("SELECT name, slots FROM pools WHERE slots IS NOT NULL"))
    used = dict(store.execute("SELECT pool, sum(slots) FROM admissions WHERE pool <> '' GROUP BY pool"))
    used[STORE] = store.row("SELECT coalesce(sum(slots), 0) FROM admissions")[0]
    return Capacity(limits, used)


def line(store: Store, room: Capacity, pool: str | None = None) -> list[Request]:
    """The first request of each class of equal pool, queue and size among those that compete.

    With a `pool`, those that share a finite scope with its requests; with None, all. A loose index scan: its
    cost grows with the number of classes, not of jobs.
    """
    if pool is not None and STORE not in room.limits:
        if pool not in room.limits:
            return []
        start, only = (pool, "", 0), pool
    else:
        start, only = ("", "", 0), None
    heads = []
    row = store.row(_HEAD, start)
    while row is not None and (only is None or row[4] == only):
        *fields, queue = row
        if not queue:
            heads.append(Request(*fields))
        row = store.row(_HEAD, (row[4], queue, row[3]))
    return heads


def promote(store: Store, now: Now) -> int:
    """Move queued jobs whose time has come into the line, and say how many.

    Elapsed delays of this boot go by the monotonic clock, absolute times by the wall clock; delays of an
    earlier boot have become absolute times. What has once been due stays due. Neither the revision nor the
    ledger is touched.
    """
    store.execute(
        """
        UPDATE jobs SET due_boot = '', due_at = next_run_at
        WHERE phase = 'queued' AND in_line = 0 AND (due_boot > '' AND due_boot < ? OR due_boot > ?)
        """,
        (now.boot, now.boot),
    )
    promoted = 0
    for boot, clock in ((now.boot, now.mono), ("", now.wall)):
        store.execute(
            """
            UPDATE jobs SET in_line = 1 WHERE id IN (
                SELECT id FROM jobs
                WHERE phase = 'queued' AND in_line = 0 AND due_boot = ? AND due_at <= ?
                ORDER BY due_at LIMIT ?)
            """,
            (boot, clock, PROMOTE_AT_MOST),
        )
        promoted += store.connection.changes()
    return promoted


def show_up(store: Store, job: Job) -> None:
    """The owner of a request answers for it: it competes (again)."""
    store.execute(
        """
        UPDATE jobs SET in_line = max(in_line, ?) - (in_line = ?), yielded_mono = NULL, yielded_boot = NULL
        WHERE id = ? AND (in_line = ? OR yielded_mono IS NOT NULL)
        """,
        (IN_LINE, SILENT, job.id, SILENT),
    )


def request_of(job: Job) -> Request:
    """What a job asks for, and where it stands."""
    return Request(job.id, job.priority, job.due.wall, job.slots, job.pool, job.bypass_count)


def settle(store: Store, job: Job, now: Now) -> Decision:
    """Decide on the request of a job that is in line, with the write lock held.

    Requests that have been offered slots for too long without an answer are left out of the line and marked.
    """
    while True:
        room = capacity(store)
        decision = decide(request_of(job), line(store, room, job.pool), room)
        if decision.reason != "yields" or not _silence(store, decision, now):
            return decision


def _silence(store: Store, decision: Decision, now: Now) -> bool:
    """Note that we yield to a request; if it has not answered for long, take it out of the competition."""
    assert decision.other is not None
    other = decision.other.job_id
    since, boot = store.row("SELECT yielded_mono, yielded_boot FROM jobs WHERE id = ?", (other,))
    if since is None or boot != now.boot:
        store.execute(
            "UPDATE jobs SET yielded_mono = ?, yielded_boot = ? WHERE id = ?", (now.mono, now.boot, other)
        )
        store.wake(_owner_tokens(store, [other]))
        return False
    if now.mono - since < PATIENCE:
        return False
    mark_silent(store, other)
    return True


def mark_silent(store: Store, job_id: int) -> None:
    """Take a request out of the competition until its owner shows up."""
    store.execute("UPDATE jobs SET in_line = 2 WHERE id = ? AND in_line = 1", (job_id,))


def grant(store: Store, job: Job, at: int) -> None:
    """Charge an admitted job's slots."""
    store.execute(
        """
        INSERT INTO admissions (job_id, run, owner, pool, queue, slots, granted_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (job.id, job.runs, job.owner, job.pool, job.queue, job.slots, at),
    )


def release(store: Store, job_id: int) -> None:
    """Give a job's slots back."""
    store.execute("DELETE FROM admissions WHERE job_id = ?", (job_id,))


def count_bypass(store: Store, passed: Request) -> None:
    """Count that a younger request was let by; the caller admits it in the same transaction."""
    store.execute("UPDATE jobs SET bypass_count = bypass_count + 1 WHERE id = ?", (passed.job_id,))


def wake_admissible(store: Store, now: Now) -> None:
    """Have those woken, after the commit, that may be admitted now."""
    promote(store, now)
    room = capacity(store)
    store.wake(_owner_tokens(store, [request.job_id for request in admissible(line(store, room), room)]))


def _owner_tokens(store: Store, job_ids: list[int]) -> list[str]:
    rows = [
        store.row("SELECT token FROM owners JOIN jobs ON jobs.owner = owners.id WHERE jobs.id = ?", (job_id,))
        for job_id in job_ids
    ]
    return [row[0] for row in rows if row is not None]

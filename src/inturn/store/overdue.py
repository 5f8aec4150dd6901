"""What has to be done for jobs that nobody owns: deadlines that have passed, dependents left to settle.

To see that there is nothing, which is the rule, costs one look. On what there is `store.settle` decides.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.store.db import Store

# Jobs settled in one transaction: a bound on how long the write lock is held.
AT_MOST = 500

# Mostly there is nothing of either kind, and this is all that is asked.
ANY = "SELECT (SELECT parent_id FROM unsettled LIMIT 1), EXISTS (SELECT 1 FROM deadlines)"


def is_unsettled(store: Store, parent_id: int) -> bool:
    """Whether a job that has ended has dependents that nobody has looked at yet."""
    return store.row("SELECT 1 FROM unsettled WHERE parent_id = ?", (parent_id,)) is not None


def forget_unsettled(store: Store, parent_id: int) -> None:
    """A job that begins another round has no outcome for anybody."""
    store.execute("DELETE FROM unsettled WHERE parent_id = ?", (parent_id,))


def pending(store: Store, now: Now) -> bool:
    """Whether there is anything for `settle.late` to do. Only looks."""
    unsettled, deadlines = store.row(ANY)
    return unsettled is not None or (bool(deadlines) and bool(expired(store, now, 1)))


def note_deadlines(store: Store, waiting: Job, now: Now) -> None:
    """Store when a queued job that nobody owns is over before its next run could start."""
    forget_deadlines(store, waiting.id)
    timeout, wait_abort, retry_abort = store.row(
        "SELECT job_timeout, wait_abort_at, retry_abort_at FROM specs WHERE job_id = ?", (waiting.id,)
    )
    if timeout is not None:
        left = max(timeout - waiting.watch.elapsed(now), 0)
        _note(store, waiting.id, now.wall + left, now.boot, now.mono + left)
    abort_at = retry_abort if waiting.attempts else wait_abort
    if abort_at is not None:
        # The last instant of a retry is still allowed.
        at = abort_at + bool(waiting.attempts)
        _note(store, waiting.id, at, "", at)


def _note(store: Store, job_id: int, wall: int, boot: str, at: int) -> None:
    store.execute(
        "INSERT INTO deadlines (job_id, wall, boot, at) VALUES (?, ?, ?, ?)", (job_id, wall, boot, at)
    )


def forget_deadlines(store: Store, job_id: int) -> None:
    """From now on an owner minds the deadlines of the job, or it has ended."""
    # Few have any, and to look is much cheaper than to delete nothing.
    if store.row("SELECT 1 FROM deadlines WHERE job_id = ? LIMIT 1", (job_id,)) is not None:
        store.execute("DELETE FROM deadlines WHERE job_id = ?", (job_id,))


_EXPIRED = """
    SELECT deadlines.job_id FROM deadlines CROSS JOIN jobs ON jobs.id = deadlines.job_id
    WHERE {} AND jobs.owner IS NULL AND jobs.phase IN ('waiting', 'queued') LIMIT ?
"""

# One query for each clock: joined by OR they would read all deadlines, however far away.
_BY_CLOCK = (
    ("boot = ? AND at <= ?", lambda now: (now.boot, now.mono)),
    ("boot = '' AND at <= ?", lambda now: (now.wall,)),
    ("boot > '' AND boot < ? AND wall <= ?", lambda now: (now.boot, now.wall)),
    ("boot > ? AND wall <= ?", lambda now: (now.boot, now.wall)),
)


def expired(store: Store, now: Now, limit: int) -> list[int]:
    """Unowned jobs one of whose deadlines has passed. Those of an earlier boot go by the wall clock."""
    found: dict[int, None] = {}
    for condition, bindings in _BY_CLOCK:
        rows = store.execute(_EXPIRED.format(condition), (*bindings(now), limit))
        found.update(dict.fromkeys(job_id for (job_id,) in rows))
    return list(found)[:limit]

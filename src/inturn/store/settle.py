"""Settling what waits for other jobs, or for nobody: receipts, openings, aborts, deadlines, bit by bit.

Whoever commits an outcome settles its dependents in the same transaction. What is too much for one goes on in
the next transactions of workers and of commands that change something; a supervised job that was not reached
is settled by its supervisor. A queued job belongs to nobody while it waits, so its deadlines are kept here.
"""

from __future__ import annotations

from inturn.core import decide, transitions
from inturn.store import gates, specs
from inturn.store.rows import SELECT_JOB, job_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.job import Edge, Job
    from inturn.core.moment import Now
    from inturn.core.transitions import Transition
    from inturn.store.db import Store

# Jobs settled in one transaction: a bound on how long the write lock is held.
AT_MOST = 500


def dependents(store: Store, parent_id: int, now: Now, limit: int) -> list[Transition]:
    """Write the receipts of a completed job's dependents; returns what follows from them.

    Those that have an owner are settled too: so all that a job has held up enter the line at the same moment,
    and their ids decide. If there are more than `limit`, the parent is noted as unsettled.
    """
    rows = store.execute(
        SELECT_JOB
        + """ JOIN edges ON edges.job_id = jobs.id
        WHERE edges.parent_id = ? AND edges.observed_at IS NULL
            AND jobs.phase = 'waiting'
        ORDER BY jobs.id LIMIT ?""",
        (parent_id, limit + 1),
    ).fetchall()
    if len(rows) > limit:
        store.execute("INSERT OR IGNORE INTO unsettled (parent_id) VALUES (?)", (parent_id,))
    else:
        store.execute("DELETE FROM unsettled WHERE parent_id = ?", (parent_id,))
    waiting = [job_from(row) for row in rows[:limit]]
    store.stirred.update(one.id for one in waiting if one.owner is not None)
    return [found for one in waiting for found in _told_of(store, one, parent_id, now)]


def _told_of(store: Store, waiting: Job, parent_id: int, now: Now) -> list[Transition]:
    """Write the receipt of one edge of a waiting job; returns the transition that follows, if any.

    A job may wait for thousands, each of which comes this way: all its edges are read once, after the last.
    """
    gates.write_receipts(store, waiting.id, now, parent_id)
    edge = gates.edge(store, waiting.id, parent_id)
    if not edge.satisfied:
        return _judge(waiting, [edge], now)
    if gates.has_open_edge(store, waiting.id):
        return []
    return _judge(waiting, gates.edges(store, waiting.id), now)


def job(store: Store, waiting: Job, now: Now) -> list[Transition]:
    """Write the receipts of one waiting job; returns the transition that follows, if any.

    One with wait conditions stays where it is, unless an edge has failed: its owner looks at them.
    """
    gates.write_receipts(store, waiting.id, now)
    return _judge(waiting, gates.edges(store, waiting.id), now)


def _judge(waiting: Job, edges: Sequence[Edge], now: Now) -> list[Transition]:
    open_since = None if waiting.conditional else 0
    event = decide.judge_gates(waiting, edges, open_since, now)
    return [] if event is None else [transitions.apply(waiting, event, now)]


def newcomers(store: Store, first: int, last: int, now: Now) -> list[Transition]:
    """Settle unowned jobs that have just been stored, with ids from `first` to `last`.

    Only of what has ended already have they not been told. If that concerns too many of them, the rest is
    noted as unsettled.
    """
    behind_ended = """
        FROM edges JOIN jobs ON jobs.id = job_id AND jobs.owner IS NULL
        JOIN jobs AS parent ON parent.id = parent_id AND parent.phase = 'completed'
        WHERE job_id BETWEEN ? AND ?
    """
    rows = store.execute(
        f"SELECT DISTINCT job_id {behind_ended} ORDER BY 1 LIMIT ?", (first, last, AT_MOST + 1)
    )
    found = [job_id for (job_id,) in rows]
    if len(found) > AT_MOST:
        store.execute(
            f"INSERT OR IGNORE INTO unsettled (parent_id) SELECT DISTINCT parent_id {behind_ended}",
            (first, last),
        )
    jobs = (job_from(store.row(SELECT_JOB + " WHERE id = ?", (job_id,))) for job_id in found[:AT_MOST])
    return [transition for one in jobs for transition in job(store, one, now)]


# Mostly there is nothing of either kind, and this is all that is asked.
_ANY = "SELECT (SELECT parent_id FROM unsettled LIMIT 1), EXISTS (SELECT 1 FROM deadlines)"


def is_unsettled(store: Store, parent_id: int) -> bool:
    """Whether a job that has ended has dependents that nobody has looked at yet."""
    return store.row("SELECT 1 FROM unsettled WHERE parent_id = ?", (parent_id,)) is not None


def forget_unsettled(store: Store, parent_id: int) -> None:
    """A job that begins another round has no outcome for anybody."""
    store.execute("DELETE FROM unsettled WHERE parent_id = ?", (parent_id,))


def pending(store: Store, now: Now) -> bool:
    """Whether there is anything for `overdue` to do. Only looks."""
    unsettled, deadlines = store.row(_ANY)
    return unsettled is not None or (bool(deadlines) and bool(_expired(store, now, 1)))


def overdue(store: Store, now: Now, limit: int = AT_MOST) -> list[Transition]:
    """What is to be committed for unowned jobs by now: unsettled dependents, deadlines that have passed."""
    found: list[Transition] = []
    unsettled, deadlines = store.row(_ANY)
    if unsettled is not None:
        found += dependents(store, unsettled, now, limit)
    if not deadlines:
        return found
    seen = {transition.before.id for transition in found}
    for job_id in _expired(store, now, limit):
        late = job_from(store.row(SELECT_JOB + " WHERE id = ?", (job_id,)))
        event = decide.deadline_event(late, specs.load(store, job_id), now)
        if event is None:  # the clock was set back, or the job has been given more time
            note_deadlines(store, late, now)
        elif job_id not in seen:
            seen.add(job_id)
            found.append(transitions.apply(late, event, now))
    return found


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


def _expired(store: Store, now: Now, limit: int) -> list[int]:
    """Unowned jobs one of whose deadlines has passed. Those of an earlier boot go by the wall clock."""
    found: dict[int, None] = {}
    for condition, bindings in _BY_CLOCK:
        rows = store.execute(_EXPIRED.format(condition), (*bindings(now), limit))
        found.update(dict.fromkeys(job_id for (job_id,) in rows))
    return list(found)[:limit]

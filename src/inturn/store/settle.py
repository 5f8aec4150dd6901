"""Settling what waits for other jobs, or for nobody: receipts, openings, aborts, deadlines, bit by bit.

Whoever commits an outcome settles its dependents in the same transaction. What is too much for one goes on in
the next transactions of workers and of commands that change something; a supervised job that was not reached
is settled by its supervisor. A queued job belongs to nobody while it waits, so its deadlines are kept here.
"""

from __future__ import annotations

from inturn.core import decide, transitions
from inturn.store import gates, overdue, specs
from inturn.store.rows import SELECT_JOB, job_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.job import Edge, Job
    from inturn.core.moment import Now
    from inturn.core.transitions import Transition
    from inturn.store.db import Store


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
        f"SELECT DISTINCT job_id {behind_ended} ORDER BY 1 LIMIT ?", (first, last, overdue.AT_MOST + 1)
    )
    found = [job_id for (job_id,) in rows]
    if len(found) > overdue.AT_MOST:
        store.execute(
            f"INSERT OR IGNORE INTO unsettled (parent_id) SELECT DISTINCT parent_id {behind_ended}",
            (first, last),
        )
    chosen = found[: overdue.AT_MOST]
    jobs = (job_from(store.row(SELECT_JOB + " WHERE id = ?", (job_id,))) for job_id in chosen)
    return [transition for one in jobs for transition in job(store, one, now)]


def late(store: Store, now: Now, limit: int = overdue.AT_MOST) -> list[Transition]:
    """What is to be committed for unowned jobs by now: unsettled dependents, deadlines that have passed."""
    found: list[Transition] = []
    unsettled, deadlines = store.row(overdue.ANY)
    if unsettled is not None:
        found += dependents(store, unsettled, now, limit)
    if not deadlines:
        return found
    seen = {transition.before.id for transition in found}
    for job_id in overdue.expired(store, now, limit):
        waiting = job_from(store.row(SELECT_JOB + " WHERE id = ?", (job_id,)))
        event = decide.deadline_event(waiting, specs.load(store, job_id), now)
        if event is None:  # the clock was set back, or the job has been given more time
            overdue.note_deadlines(store, waiting, now)
        elif job_id not in seen:
            seen.add(job_id)
            found.append(transitions.apply(waiting, event, now))
    return found

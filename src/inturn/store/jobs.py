"""Jobs and their runs: storing new ones, reading them, and the one way to change them."""

from __future__ import annotations

from inturn.core import transitions
from inturn.store import admissions, gates, overdue
from inturn.store.rows import (
    EVENT_COLUMNS,
    JOB_COLUMNS,
    RUN_COLUMNS,
    SELECT_JOB,
    SELECT_RUN,
    job_from,
    job_values,
    marks,
    run_from,
    run_values,
)
from inturn.store.transaction import CommitUnknown, Stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inturn.core.job import Job, Run
    from inturn.core.moment import Now
    from inturn.core.transitions import Transition
    from inturn.store.db import Store

_INSERT_RUN = f"INSERT INTO runs ({', '.join(RUN_COLUMNS)}) VALUES ({marks(RUN_COLUMNS)})"
_RUN_CHANGES = ", ".join(f"{column} = ?" for column in RUN_COLUMNS[2:])
_UPDATE_RUN = f"UPDATE runs SET {_RUN_CHANGES} WHERE job_id = ? AND number = ?"
_IDENTIFY = """
    UPDATE runs SET native_id = ?, executable = ?, started_at = ?,
        watch_used = ?, watch_wall = ?, watch_mono = ?, watch_boot = ?
    WHERE job_id = ? AND number = ? AND EXISTS (SELECT 1 FROM jobs WHERE id = job_id AND owner = ?)
"""
_EVENT = f"INSERT INTO events ({', '.join(EVENT_COLUMNS)}) VALUES ({marks(EVENT_COLUMNS)})"
_JOB_COLUMNS = range(len(JOB_COLUMNS))
_AFRESH = (JOB_COLUMNS.index("in_line"),)
_AFRESH_AT_ADMISSION = (*_AFRESH, JOB_COLUMNS.index("bypass_count"))
_updates: dict[tuple[int, ...], str] = {}


def load(store: Store, job_id: int) -> Job | None:
    """The job with this id, or None."""
    row = store.row(SELECT_JOB + " WHERE id = ?", (job_id,))
    return None if row is None else job_from(row)


def is_at(store: Store, job: Job) -> bool:
    """Whether a job is still where it was when it was read: same revision, same owner, same place in line.

    Others may bring it into the line when its time has come, which is no transition.
    """
    found = store.row("SELECT revision, epoch, in_line FROM jobs WHERE id = ?", (job.id,))
    return bool(found == (job.revision, job.epoch, job.in_line))


def load_run(store: Store, job_id: int, number: int) -> Run | None:
    """One run of a job, or None."""
    row = store.row(SELECT_RUN + " WHERE job_id = ? AND number = ?", (job_id, number))
    return None if row is None else run_from(row)


def owned_by(store: Store, owner: int) -> list[Job]:
    """The jobs of an owner, in the order of their ids."""
    return [job_from(row) for row in store.execute(SELECT_JOB + " WHERE owner = ? ORDER BY id", (owner,))]


def commit(
    store: Store, batch: Iterable[Transition], now: Now, me: int | None = None, wake: bool = True
) -> bool:
    """Write transitions together with their events, runs and admissions, inside a write transaction.

    Returns whether one of them `matters_without_limits`.

    `me` is the owner that commits, None for anybody else. Those whom a transition concerns are noted to be
    woken after the commit: the job's owner, the owners of dependents, those who may now be admitted; not the
    last ones if `wake` is false, because more is to come in the same transaction.
    A transition may go on from the one before it: the last of such a chain changes the row of the job, and
    has the effects, of all of them. Raises Stale if a job has changed since it was read: nothing of the
    transaction may then be kept.
    """
    freed = come = False
    base: Job | None = None
    todo = list(batch)
    known = {transition.before.id for transition in todo}
    limit = overdue.AT_MOST
    for number, transition in enumerate(todo):
        following = todo[number + 1] if number + 1 < len(todo) else None
        if following is not None and following.before is not transition.after:
            following = None
        _record(store, transition, with_run=following is None or following.event.run is None)
        base = base or transition.before
        if following is not None:
            continue
        before, after, base = base, transition.after, None
        _write(store, before, transition)
        if after.queue and before.phase != after.phase:
            _mind_deadlines(store, before, after, now)
        if before.owner is not None and before.owner != me:
            store.wake(_tokens(store, before.owner))
        if transitions.holds_slots(before) and not transitions.holds_slots(after):
            admissions.release(store, after.id)
            freed = True
        elif transitions.holds_slots(after) and not transitions.holds_slots(before):
            assert transition.event.run is not None, "whoever is admitted is admitted for a run"
            admissions.grant(store, after, transition.event.run, transition.at)
            freed = True  # A smaller request behind this one may fit as well.
        elif "queued" in (before.phase, after.phase):
            freed = True  # It may have held others back, or may itself be admitted.
        come = come or admissions.matters_without_limits(after)
        if after.phase == "completed" and gates.is_waited_for(store, after.id):
            from inturn.store import settle  # of many a job there is nothing to settle

            store.wake(gates.owners_of_dependents(store, after.id))
            # Aborts run down the graph: what is found is committed by this same loop.
            found = settle.dependents(store, after.id, now, limit)
            limit = max(limit - len(found), 0)
            # A job that waits for two of these is found twice, and ends once.
            todo += [one for one in found if one.before.id not in known]
            known.update(one.before.id for one in found)
    if freed and wake:
        admissions.wake_admissible(store, now, me, come)
    return come


def catch_up(store: Store, clock: Callable[[], Now]) -> bool:
    """Commit what is overdue for jobs that nobody owns, in a transaction of its own; whether there was any.

    A bounded piece: there may be more.
    """
    if not overdue.pending(store, clock()):
        return False
    from inturn.store import settle

    try:
        with store.writing():
            now = clock()
            commit(store, settle.late(store, now), now)
    except CommitUnknown:
        pass  # What is still overdue is found again.
    return True


def _mind_deadlines(store: Store, before: Job, after: Job, now: Now) -> None:
    """Deadlines are kept as long as a job waits or stands in line: its owner may die, and leave it to all."""
    if after.phase in ("waiting", "queued"):
        overdue.note_deadlines(store, after, now)
    elif before.phase in ("waiting", "queued"):
        overdue.forget_deadlines(store, after.id)


def _write(store: Store, base: Job, transition: Transition) -> None:
    """Bring the row of a job from `base` to what it is after the transition."""
    # Others may have changed these since the job was read: promotions and bypasses touch no revision.
    afresh = _AFRESH_AT_ADMISSION if transition.event.kind == "admitted" else _AFRESH
    old, new = job_values(base), job_values(transition.after)
    # A column that is named twice gets the latter value, which is the same.
    changed = (*[at for at in _JOB_COLUMNS if old[at] != new[at]], *afresh)
    values = [new[at] for at in changed]
    store.execute(_update_of(changed), (*values, base.id, base.revision, base.epoch))
    if store.connection.changes() != 1:
        raise Stale(f"job {base.id} is no longer at revision {base.revision}")


def _update_of(changed: tuple[int, ...]) -> str:
    """The statement that changes these columns. There are few such sets, and each is met again and again."""
    if changed not in _updates:
        columns = ", ".join(f"{JOB_COLUMNS[at]} = ?" for at in changed)
        _updates[changed] = (
            f"UPDATE jobs SET {columns}, yielded_mono = NULL, yielded_boot = NULL"
            " WHERE id = ? AND revision = ? AND epoch = ?"
        )
    return _updates[changed]


def _record(store: Store, transition: Transition, with_run: bool) -> None:
    """Write the event of a transition, and the run as it is after it."""
    before, after, event = transition.before, transition.after, transition.event
    if with_run and event.run is not None:
        write_run(store, event.run, new=event.kind == "admitted")
    run = after.runs or None
    store.execute(
        _EVENT,
        (after.id, transition.at, event.kind, before.phase, after.phase, event.reason or event.outcome, run),
    )


def identify(store: Store, run: Run, owner: int) -> None:
    """Store which process a run is, on behalf of the owner of its job; nothing, if that is another by now."""
    values = (run.native_id, run.executable, run.started_at, *run.watch, run.job_id, run.number, owner)
    store.execute(_IDENTIFY, values)


def write_run(store: Store, run: Run, new: bool = False) -> None:
    """Store a run, or what has become known of it."""
    values = run_values(run)
    if new:
        store.execute(_INSERT_RUN, values)
    else:
        store.execute(_UPDATE_RUN, (*values[2:], run.job_id, run.number))


def _tokens(store: Store, owner: int) -> list[str]:
    row = store.row("SELECT token FROM owners WHERE id = ? AND gone_at IS NULL", (owner,))
    return [] if row is None else [row[0]]

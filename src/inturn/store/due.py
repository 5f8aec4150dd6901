"""Jobs that are queued for later: when the next one is due, and how those that are due come into the line."""

from __future__ import annotations

from inturn.core.moment import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.moment import Now
    from inturn.store.db import Store

# Rows whose time has come, moved to the line at once: a bound on how long the write lock is held, for all but
# a claim, which asks again until the whole line stands.
PROMOTE_AT_MOST = 2000

_A_DAY = 24 * 3600 * SECOND

# Mostly there is none, and to know that is cheaper than two minima.
_DELAYED = "SELECT 1 FROM jobs WHERE phase = 'queued' AND in_line = 0 AND due_boot >= '' LIMIT 1"

# Delays of an earlier boot. Two ranges of the index: joined by OR they would scan all of it.
_BEFORE = "due_boot > '' AND due_boot < ?1"
_BEHIND = "due_boot > ?1"
_OF_AN_EARLIER_BOOT = f"""
    SELECT 1 FROM jobs WHERE phase = 'queued' AND in_line = 0 AND {_BEFORE}
    UNION ALL SELECT 1 FROM jobs WHERE phase = 'queued' AND in_line = 0 AND {_BEHIND} LIMIT 1
"""

_NEXT_DUE = """
    SELECT (SELECT min(due_at) FROM jobs WHERE phase = 'queued' AND in_line = 0 AND due_boot = ?),
        (SELECT min(due_at) FROM jobs WHERE phase = 'queued' AND in_line = 0 AND due_boot = '')
"""


def promote(store: Store, now: Now) -> int:
    """Move queued jobs whose time has come into the line, and say how many.

    Elapsed delays of this boot go by the monotonic clock, absolute times by the wall clock; delays of an
    earlier boot have become absolute times. What has once been due stays due. Neither the revision nor the
    ledger is touched.
    """
    if store.row(_DELAYED) is None:
        return 0
    if _has_delays_of_an_earlier_boot(store, now):
        _convert_delays_of_earlier_boots(store, now)
    if _until_first(store, now) > 0:
        return 0
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


def unpromoted(store: Store, now: Now, limit: int) -> list[int]:
    """The ids of jobs, the earliest first, whose absolute time has come and that are not in line yet.

    Elapsed delays are left out: who waits for one sleeps by the same clock.
    """
    found = store.execute(
        """
        SELECT id FROM jobs WHERE phase = 'queued' AND in_line = 0 AND due_boot = '' AND due_at <= ?
        ORDER BY due_at LIMIT ?
        """,
        (now.wall, limit),
    )
    return [job_id for (job_id,) in found]


def _has_delays_of_an_earlier_boot(store: Store, now: Now) -> bool:
    if store.boot == now.boot:
        return False
    if store.row(_OF_AN_EARLIER_BOOT, (now.boot,)) is not None:
        return True
    # Whatever is delayed from now on is of this boot: once there is none of an earlier one, none comes again.
    store.boot = now.boot
    return False


def _convert_delays_of_earlier_boots(store: Store, now: Now) -> None:
    for earlier in (_BEFORE, _BEHIND):
        store.execute(
            f"""
            UPDATE jobs SET due_boot = '', due_at = next_run_at
            WHERE phase = 'queued' AND in_line = 0 AND {earlier}
            """,
            (now.boot,),
        )


def is_anything_due(store: Store, now: Now) -> bool:
    """Whether there is anything for `promote` to do. Only looks."""
    return next_due(store, now) <= 0


def next_due(store: Store, now: Now) -> int:
    """Microseconds until `promote` has work: until the next queued job is due; a day if none is before that.

    A delay of an earlier boot is work at once: when it ends is known when it has become an absolute time.
    """
    if store.row(_DELAYED) is None:
        return _A_DAY
    return 0 if _has_delays_of_an_earlier_boot(store, now) else _until_first(store, now)


def _until_first(store: Store, now: Now) -> int:
    """As `next_due`, where it is known that there are delayed jobs."""
    mono, wall = store.row(_NEXT_DUE, (now.boot,))
    waits = [_A_DAY]
    if mono is not None:
        waits.append(mono - now.mono)
    if wall is not None:
        waits.append(wall - now.wall)
    return min(waits)

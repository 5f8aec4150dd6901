"""Jobs that are queued for later: when the next one is due, and how those that are due come into the line."""

from __future__ import annotations

from inturn.core.moment import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.moment import Now
    from inturn.store.db import Store

# Rows whose time has come, moved to the line in one transaction: a bound on how long the write lock is held.
PROMOTE_AT_MOST = 2000

_A_DAY = 24 * 3600 * SECOND

# Mostly there is none, and to know that is cheaper than two minima.
_DELAYED = "SELECT 1 FROM jobs WHERE phase = 'queued' AND in_line = 0 AND due_boot >= '' LIMIT 1"

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
    if store.boot != now.boot and not _convert_delays_of_earlier_boots(store, now):
        # Whatever enters the line is of this boot: once there are none of an earlier one, none comes again.
        store.boot = now.boot
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


def _convert_delays_of_earlier_boots(store: Store, now: Now) -> int:
    """Returns how many there were. Two ranges of the index: joined by OR they would scan all of it."""
    converted = 0
    for earlier in ("due_boot > '' AND due_boot < ?", "due_boot > ?"):
        store.execute(
            f"""
            UPDATE jobs SET due_boot = '', due_at = next_run_at
            WHERE phase = 'queued' AND in_line = 0 AND {earlier}
            """,
            (now.boot,),
        )
        converted += store.connection.changes()
    return converted


def is_anything_due(store: Store, now: Now) -> bool:
    """Whether there is anything for `promote` to do. Only looks."""
    return next_due(store, now) <= 0


def next_due(store: Store, now: Now) -> int:
    """Microseconds until the next queued job is due; a day if there is none before that."""
    return _A_DAY if store.row(_DELAYED) is None else _until_first(store, now)


def _until_first(store: Store, now: Now) -> int:
    """As `next_due`, where it is known that there are delayed jobs."""
    mono, wall = store.row(_NEXT_DUE, (now.boot,))
    waits = [_A_DAY]
    if mono is not None:
        waits.append(mono - now.mono)
    if wall is not None:
        waits.append(wall - now.wall)
    return min(waits)

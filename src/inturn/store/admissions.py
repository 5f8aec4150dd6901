"""Slots: who holds them, who stands in line, and the transaction that settles the race for them."""

from __future__ import annotations

from inturn.core.admission import STORE, Capacity, Decision, Request, admissible, array_scope, decide
from inturn.core.job import IN_LINE, NOT_IN_LINE, SILENT
from inturn.core.moment import SECOND
from inturn.store import due, held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import NamedTuple

    from inturn.core.job import Job, Run
    from inturn.core.moment import Now
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# An owner that has left an offer unanswered for so long (µs) does not compete until it shows up again.
PATIENCE = 10 * SECOND

# Where nothing is limited, whoever is admitted tells nobody else. So of requests that are alike many are told
# at once: by somebody who lifts a limit, say; and by somebody who only happens to look.
TOLD_AT_ONCE = 1000
REMINDED_AT_ONCE = 16

# At or after, not after: SQLite looks for the first row at or after such a tuple, whatever the comparison is,
# and would pass over all that are equal one by one.
_HEAD = """
    SELECT id, priority, next_run_at, slots, pool, bypass_count, throttle, queue FROM jobs
    WHERE in_line = 1 AND (pool, queue, throttle, slots) >= (?, ?, ?, ?)
    ORDER BY pool, queue, throttle, slots, priority DESC, next_run_at, id LIMIT 1
"""

# Whether the store, a pool or a queue is limited.
_LIMITED = """
    SELECT 1 FROM pools WHERE slots IS NOT NULL OR devices <> ''
    UNION ALL SELECT 1 FROM worker_queues WHERE ceiling IS NOT NULL LIMIT 1
"""

# Workers of a queue who would claim now, as many as asked for.
_FREE_WORKERS = """
    SELECT token FROM owners JOIN worker_queues ON worker_queues.owner = owners.id
    WHERE worker_queues.queue = ? AND accepting AND gone_at IS NULL
        AND (SELECT count(*) FROM admissions WHERE admissions.owner = owners.id) < places
    LIMIT ?
"""

# What is decided on a request in a queue or pool that is paused.
PAUSED = Decision(False, "paused")

_PASSED_OFTEN = """
    SELECT id, priority, next_run_at, slots, pool, bypass_count, throttle, queue FROM jobs
    WHERE in_line = 1 AND bypass_count = 3
"""


class Standing(NamedTuple):
    """The first request of a class in line, and the queue that it stands in ('' for a supervised job)."""

    request: Request
    queue: str


def capacity(store: Store, throttles: Collection[int] = ()) -> Capacity:
    """The finite limits, and the slots in use of each scope; `throttles` are the arrays that matter."""
    limits: dict[str, int] = {}
    devices: dict[str, list[int]] = {}
    for name, slots, names, per_device in store.execute("SELECT name, slots, devices, per_device FROM pools"):
        if slots is not None:
            limits[name] = slots
        if names:
            devices[name] = _free_devices(store, name, names.split(","), per_device)
    if not limits and not throttles:
        return Capacity({}, {}, devices)
    used = dict(store.execute("SELECT pool, sum(slots) FROM admissions WHERE pool <> '' GROUP BY pool"))
    used[STORE] = store.row("SELECT coalesce(sum(slots), 0) FROM admissions")[0]
    for array in throttles:
        scope = array_scope(array)
        limits[scope] = store.row("SELECT at_once FROM arrays WHERE id = ?", (array,))[0]
        used[scope] = store.row("SELECT count(*) FROM admissions WHERE throttle = ?", (array,))[0]
    return Capacity(limits, used, devices)


def _free_devices(store: Store, pool: str, names: list[str], per_device: int) -> list[int]:
    free = dict.fromkeys(names, per_device)
    for (given,) in store.execute("SELECT devices FROM admissions WHERE pool = ?", (pool,)):
        for name in filter(None, given.split(",")):
            if name in free:  # else the pool has lost this device meanwhile
                free[name] -= 1
    return list(free.values())


def heads(store: Store, pool: str | None = None) -> list[Standing]:
    """The first request of each class of equal pool, queue, array and size; all pools, or one.

    Those in a queue or pool that is paused are left out. A loose index scan: its cost grows with the number
    of classes, not of jobs.
    """
    found = []
    paused = held.load(store)
    row = store.row(_HEAD, (pool or "", "", 0, 0))
    while row is not None and (pool is None or row[4] == pool):
        *fields, queue = row
        request = Request._make(fields)
        if not paused.over(queue, request.pool):
            found.append(Standing(request, queue))
        row = store.row(_HEAD, (request.pool, queue, request.throttle, request.slots + 1))
    return found


def passed_often(store: Store, known: Collection[int]) -> list[Standing]:
    """Requests that hold others back from behind the head of their class, which came later."""
    paused = held.load(store)
    all_of_them = [Standing(Request._make(row[:7]), row[7]) for row in store.execute(_PASSED_OFTEN)]
    return [
        one
        for one in all_of_them
        if one.request.job_id not in known and not paused.over(one.queue, one.request.pool)
    ]


def served_queues(store: Store) -> set[str]:
    """The queues from which a live worker would claim now: a place is free, the ceiling not reached."""
    return {
        queue
        for (queue,) in store.execute(
            """
            SELECT DISTINCT queue FROM worker_queues JOIN owners ON owners.id = owner
            WHERE accepting AND NOT silent AND gone_at IS NULL
                AND (SELECT count(*) FROM admissions WHERE admissions.owner = owners.id) < places
                AND (ceiling IS NULL
                    OR (SELECT count(*) FROM admissions AS active WHERE active.queue = worker_queues.queue)
                        < ceiling)
            """
        )
    }


def line(store: Store, limits: Mapping[str, int], mine: Request | None = None) -> list[Request]:
    """The head of each class that competes: of those that share a finite scope with `mine`, or of all."""
    # The jobs of an array may have been moved to different pools.
    if mine is None or STORE in limits or mine.throttle:
        standing = heads(store)
    elif mine.pool in limits:
        standing = heads(store, mine.pool)
    else:
        return []
    standing += passed_often(store, {one.request.job_id for one in standing})
    served = served_queues(store) if any(one.queue for one in standing) else set()
    return [one.request for one in standing if not one.queue or one.queue in served]


def view(store: Store, mine: Request | None = None) -> tuple[Capacity, list[Request]]:
    """Capacity and competing heads, as one decision needs them."""
    room = capacity(store, {mine.throttle} if mine is not None and mine.throttle else ())
    competing = line(store, room.limits, mine)
    throttles = {request.throttle for request in competing if request.throttle}
    if throttles:
        room = capacity(store, throttles | ({mine.throttle} if mine is not None and mine.throttle else set()))
    return room, competing


def show_up(store: Store, job: Job) -> None:
    """The owner of a request answers for it: it competes (again), unless it is gone."""
    row = store.row("SELECT in_line, yielded_mono FROM jobs WHERE id = ?", (job.id,))
    in_line, yielded = row or (NOT_IN_LINE, None)
    if in_line == SILENT or (in_line == IN_LINE and yielded is not None):
        store.execute(
            "UPDATE jobs SET in_line = ?, yielded_mono = NULL, yielded_boot = NULL WHERE id = ?",
            (IN_LINE, job.id),
        )


def place_of(store: Store, job_id: int) -> int:
    """Where a job stands: NOT_IN_LINE, IN_LINE or SILENT of `inturn.core.job`; in no line if it is gone."""
    row = store.row("SELECT in_line FROM jobs WHERE id = ?", (job_id,))
    return NOT_IN_LINE if row is None else int(row[0])


def request_of(job: Job) -> Request:
    """What a job asks for, and where it stands."""
    return Request(job.id, job.priority, job.due.wall, job.slots, job.pool, job.bypass_count, job.throttle)


def settle(store: Store, job: Job, now: Now) -> Decision:
    """Decide on the request of a job that is in line, with the write lock held; see `settle_unpaused`."""
    if held.load(store).over(job.queue, job.pool):
        return PAUSED
    return settle_unpaused(store, job, now)


def settle_unpaused(store: Store, job: Job, now: Now) -> Decision:
    """Decide on the request of a job, such as one of `heads`, of which neither queue nor pool is paused.

    Requests that have been offered slots for too long without an answer are left out of the line and marked.
    """
    mine = request_of(job)
    while True:
        room, competing = view(store, mine)
        decision = decide(mine, competing, room)
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
    queue = store.row("SELECT queue FROM jobs WHERE id = ?", (other,))[0]
    if queue:
        store.execute(
            "UPDATE owners SET silent = 1 WHERE id IN (SELECT owner FROM worker_queues WHERE queue = ?)",
            (queue,),
        )
    else:
        mark_silent(store, other)
    return True


def mark_silent(store: Store, job_id: int) -> None:
    """Take a request out of the competition until its owner shows up."""
    store.execute("UPDATE jobs SET in_line = 2 WHERE id = ? AND in_line = 1", (job_id,))


def grant(store: Store, job: Job, run: Run, at: int) -> None:
    """Charge the slots of a job that was admitted for this run."""
    store.execute(
        """
        INSERT INTO admissions (job_id, run, owner, pool, queue, slots, throttle, devices, granted_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (job.id, run.number, job.owner, job.pool, job.queue, job.slots, job.throttle, run.devices, at),
    )


def devices_for(store: Store, job: Job) -> str:
    """The devices of its pool that an admitted job is given, joined by commas; '' if the pool has none."""
    if not job.pool:
        return ""
    row = store.row("SELECT devices FROM pools WHERE name = ? AND devices <> ''", (job.pool,))
    if row is None:
        return ""
    names = row[0].split(",")
    return ",".join(names[index] for index in capacity(store).place(request_of(job)))


def pools_with_devices(store: Store) -> list[tuple[str, str, str]]:
    """Name, variable and `others` of each pool that has devices."""
    return list(store.execute("SELECT name, variable, others FROM pools WHERE devices <> ''"))


def release(store: Store, job_id: int) -> None:
    """Give a job's slots back."""
    store.execute("DELETE FROM admissions WHERE job_id = ?", (job_id,))


def count_bypass(store: Store, passed: Request) -> None:
    """Count that a younger request was let by; the caller admits it in the same transaction."""
    store.execute("UPDATE jobs SET bypass_count = bypass_count + 1 WHERE id = ?", (passed.job_id,))


def wake_admissible(store: Store, now: Now, me: int | None = None, come: bool = True) -> None:
    """Have those woken, after the commit, that may be admitted now; what the others were offered is gone.

    If it is nobody's turn, the first in line is woken if it is a supervised job, to get ready for it.

    `me` is the owner that commits, if one does: it looks at the line by itself, so that nothing needs to be
    done if it is alone. `come` says whether anybody has come into the line; if slots were only taken or given
    back, it is only where something is limited that this concerns anybody; see `matters_without_limits`.
    """
    if me is not None and store.row("SELECT 1 FROM owners WHERE id <> ? AND gone_at IS NULL", (me,)) is None:
        return
    come = due.promote(store, now) > 0 or come
    if not come and store.row(_LIMITED) is None:
        return
    room, competing = view(store)
    offered = [request.job_id for request in admissible(competing, room)]
    for request in competing:
        if request.job_id not in offered:
            _withdraw_offer(store, request.job_id)
    if offered:
        # What an owner itself commits lets in one after the other: each looks for the next one.
        at_once = 1 if room.limits or me is not None else TOLD_AT_ONCE
        store.wake(token for job_id in offered for token in _takers(store, job_id, at_once))
    else:
        store.wake_at_leisure(_supervisor_of_next(store, competing))


def overlooked(store: Store, me: int, now: Now) -> list[str]:
    """The tokens of owners, other than `me`, who may have somebody admitted now and do not seem to know.

    Some of them are about to ask. Of requests that are alike the first is named, which has the next one told
    when it is admitted; where nothing is limited nobody does that, and some of them are. If the time of some
    has come and nobody has brought them into the line, the first of those are named, which do that for all.
    """
    with store.reading():
        tokens = _owner_tokens(store, due.unpromoted(store, now, REMINDED_AT_ONCE))
        if store.row("SELECT 1 FROM jobs WHERE in_line = 1") is not None:
            room, competing = view(store)
            at_once = 1 if room.limits else REMINDED_AT_ONCE
            for request in admissible(competing, room):
                tokens += _takers(store, request.job_id, at_once)
        mine = {token for (token,) in store.execute("SELECT token FROM owners WHERE id = ?", (me,))}
        return [token for token in tokens if token not in mine]


def _takers(store: Store, head: int, at_most: int) -> list[str]:
    """Who would take the slots of the first request of a class, and of those that follow it.

    These are their supervisors, or workers of their queue: of those no more than there are requests.
    """
    tokens = _owner_tokens(store, [head])
    if at_most == 1 or not tokens:
        return tokens
    (queue,) = store.row("SELECT queue FROM jobs WHERE id = ?", (head,))
    if not queue:
        return _owner_tokens(store, _first_alike(store, head, at_most))
    free = [token for (token,) in store.execute(_FREE_WORKERS, (queue, at_most))]
    return free[: len(_first_alike(store, head, len(free)))]


def _first_alike(store: Store, head: int, count: int) -> list[int]:
    """The first request of a class and those that follow it, `count` in all."""
    found = store.execute(
        """
        SELECT id FROM jobs
        WHERE in_line = 1 AND (pool, queue, throttle, slots)
            = (SELECT pool, queue, throttle, slots FROM jobs WHERE id = ?)
        ORDER BY priority DESC, next_run_at, id LIMIT ?
        """,
        (head, count),
    )
    return [job_id for (job_id,) in found]


def matters_without_limits(job: Job) -> bool:
    """Whether a job that has become like this may let somebody be admitted where nothing is limited.

    It has come into the line itself; or its array is limited, which is no limit of the store.
    """
    return job.phase == "queued" or job.throttle != 0


def _withdraw_offer(store: Store, job_id: int) -> None:
    """Else it would count as left unanswered, though somebody before it has taken the slots."""
    store.execute(
        "UPDATE jobs SET yielded_mono = NULL, yielded_boot = NULL WHERE id = ? AND yielded_mono IS NOT NULL",
        (job_id,),
    )


def _supervisor_of_next(store: Store, competing: list[Request]) -> list[str]:
    """The token of the supervisor of the first in line, if that is a supervised job."""
    if not competing:
        return []
    row = store.row(
        "SELECT token FROM owners JOIN jobs ON jobs.owner = owners.id WHERE jobs.id = ? AND queue = ''",
        (min(competing, key=lambda request: request.place).job_id,),
    )
    return [] if row is None else [row[0]]


def _owner_tokens(store: Store, job_ids: list[int]) -> list[str]:
    """Who would take the slots of these jobs: their supervisors, or a worker of their queue."""
    tokens = []
    for job_id in job_ids:
        row = store.row(
            "SELECT token, queue FROM jobs LEFT JOIN owners ON owners.id = owner WHERE jobs.id = ?", (job_id,)
        )
        if row is not None and row[1]:
            row = store.row(_FREE_WORKERS, (row[1], 1))
        if row is not None and row[0] is not None:
            tokens.append(row[0])
    return tokens

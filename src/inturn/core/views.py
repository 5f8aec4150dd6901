"""What was read of the store for somebody who looks at it, and the words by which jobs are picked."""

from __future__ import annotations

from inturn.core.job import ACTIVE, IN_LINE, NOT_IN_LINE, OUTCOMES, STATUSES, Condition, Edge, Job, Run
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.core.reasons import Agent, Reason
    from inturn.core.spec import Spec
else:
    from inturn.core.records import NamedTuple

# Words for several statuses at once. `active` means what holds slots: a paused job does so with a target.
# `unsuccessful` is what has ended otherwise than well.
UMBRELLAS: dict[str, tuple[str, ...]] = {
    "active": (*ACTIVE, "paused"),
    "live": tuple(status for status in STATUSES if status not in OUTCOMES),
    "ended": OUTCOMES,
    "unsuccessful": tuple(outcome for outcome in OUTCOMES if outcome != "success"),
}


class Filters(NamedTuple):
    """Which jobs are wanted: any of the values of one field, and all of the fields that have values.

    `statuses` are words of STATUSES or UMBRELLAS; a tag without a value asks for the tag alone; `arrays` are
    the ids of arrays. `below` is an id: only older jobs, for one page after the other.
    """

    statuses: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tags: tuple[tuple[str, str | None], ...] = ()
    arrays: tuple[int, ...] = ()
    below: int | None = None


class Keeper(NamedTuple):
    """The owner of a job. Its lock file, named by `token`, was that device and inode.

    `registered_at` and the end of the lease are wall microseconds; `gone_at` is when it was proven dead.
    """

    id: int
    kind: str
    token: str
    identity: str
    lock_dev: int
    lock_ino: int
    registered_at: int
    gone_at: int | None
    lease_wall: int

    @property
    def pid(self) -> int:
        """Its process id, in its own pid namespace."""
        return int(self.identity.partition(":")[0])


class View(NamedTuple):
    """A job with what belongs to it. `runs` are all of them, or only the last one where that is enough."""

    job: Job
    argv: tuple[bytes, ...]
    runs: tuple[Run, ...] = ()
    keeper: Keeper | None = None
    edges: tuple[Edge, ...] = ()
    conditions: tuple[Condition, ...] = ()
    tags: tuple[tuple[str, str | None], ...] = ()

    @property
    def last_run(self) -> Run | None:
        """The run with the highest number."""
        return self.runs[-1] if self.runs else None


class Dossier(NamedTuple):
    """A job with all about it. `holder` is its admission; `dependents` are the edges that lead to it."""

    view: View
    spec: Spec
    key: str | None
    holder: Holder | None
    dependents: tuple[Edge, ...]
    entries: tuple[LedgerEntry, ...]
    agent: Agent | None = None
    reasons: tuple[Reason, ...] = ()


class LedgerEntry(NamedTuple):
    """One change of phase; `source` is None for a submission, `at` is wall microseconds."""

    id: int
    job_id: int
    at: int
    kind: str
    source: str | None
    target: str
    reason: str | None
    run: int | None


class Holder(NamedTuple):
    """An admission: who holds how many slots of the store and of `pool`, since when (wall microseconds).

    `devices` are those of the pool, joined by commas.
    """

    job_id: int
    name: str | None
    slots: int
    pool: str
    queue: str
    run: int
    devices: str
    granted_at: int


class Scope(NamedTuple):
    """The store-wide limit (an empty name) or a pool. `slots` is None for unlimited.

    `declared` says that the configuration file sets it; `in_line` counts the requests that wait for it.
    `devices` is empty for a plain pool. `paused`: nothing is admitted to it.
    """

    name: str
    slots: int | None
    declared: bool
    used: int
    in_line: int
    holders: tuple[Holder, ...]
    devices: tuple[str, ...] = ()
    paused: bool = False

    @property
    def free(self) -> int | None:
        """Slots left, never negative; None for unlimited."""
        return None if self.slots is None else max(self.slots - self.used, 0)


class Totals(NamedTuple):
    """How many jobs have each status, by queue and pool, and the scopes; `counts` are by the same keys.

    `paused` are the queues from which nothing is claimed.
    """

    counts: Mapping[tuple[str, str, str], int]
    scopes: tuple[Scope, ...]
    paused: frozenset[str] = frozenset()

    def by_status(self, queue: str | None = None, pool: str | None = None) -> dict[str, int]:
        """Jobs by status, of all queues and pools or of one of them; statuses without jobs are left out."""
        found: dict[str, int] = {}
        for (its_queue, its_pool, status), jobs in self.counts.items():
            if jobs and queue in (None, its_queue) and pool in (None, its_pool):
                found[status] = found.get(status, 0) + jobs
        return found

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that have or had jobs, or are paused; supervised jobs are in none."""
        return tuple(sorted({queue for queue, _, _ in self.counts if queue} | self.paused))


def as_of(job: Job, now: Now) -> Job:
    """The job with its place in line as it is at `now`.

    Rows whose time has come are moved to the line by whoever writes next; who only looks must not take them
    for delayed in the meantime.
    """
    if job.phase == "queued" and job.in_line == NOT_IN_LINE and job.due.reached(now):
        return job._replace(in_line=IN_LINE)
    return job


def check_status(word: str) -> str:
    """`word` itself, if jobs can be picked by it. Raises InturnError `invalid_value`."""
    if word in STATUSES or word in UMBRELLAS:
        return word
    from inturn.core.duration import quoted

    raise InturnError(
        "invalid_value",
        f"{quoted(word)} is not a status",
        f"Write one of {', '.join(STATUSES)}, or {', '.join(UMBRELLAS)}.",
    )

"""The registry of owners: who they are, which lock proves their life, and their leases."""

from __future__ import annotations

from inturn.core.moment import SECOND
from inturn.store.rows import LOOKS_IN_FORCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NamedTuple

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# A lease is renewed three times before it would expire (µs).
LEASE = 10 * SECOND
RENEW_EVERY = 3 * SECOND
_JUST_NOW = SECOND

# Whose lease has expired, or was of an earlier boot, at boot ?1 and monotonic instant ?2.
_LATE = """
    gone_at IS NULL AND lease_boot <> ''
    AND (lease_boot < ?1 OR lease_boot > ?1 OR lease_boot = ?1 AND lease_mono < ?2)
"""


class Owner(NamedTuple):
    """A process that owns jobs; `token` names its lock and its FIFO, `gone_at` is when it was proven dead."""

    id: int
    kind: str
    token: str
    identity: str
    lock_dev: int
    lock_ino: int
    version: str
    registered_at: int
    gone_at: int | None
    lease_boot: str
    lease_mono: int
    lease_wall: int


_COLUMNS = ", ".join(Owner._fields)


def register(
    store: Store, kind: str, token: str, identity: str, lock: tuple[int, int], version: str, now: Now
) -> int:
    """Add an owner and return its id. `lock` is device and inode of its lock file."""
    store.execute(
        """
        INSERT INTO owners (kind, token, identity, lock_dev, lock_ino, version, registered_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (kind, token, identity, *lock, version, now.wall),
    )
    return store.connection.last_insert_rowid()


def load(store: Store, owner: int) -> Owner | None:
    """The owner with this id, or None."""
    row = store.row(f"SELECT {_COLUMNS} FROM owners WHERE id = ?", (owner,))
    return None if row is None else Owner(*row)


def by_token(store: Store, token: str) -> Owner | None:
    """The owner with this token, or None."""
    row = store.row(f"SELECT {_COLUMNS} FROM owners WHERE token = ?", (token,))
    return None if row is None else Owner(*row)


def live(store: Store) -> list[Owner]:
    """The owners that have neither said goodbye nor been proven dead."""
    return [
        Owner(*row)
        for row in store.execute(f"SELECT {_COLUMNS} FROM owners WHERE gone_at IS NULL ORDER BY id")
    ]


def suspects(store: Store, now: Now, limit: int, offset: float) -> list[Owner]:
    """Owners that are worth a look, at most `limit`.

    First those that an earlier look left half settled, then those whose lease has expired, and then as many
    others as there is room for, from a random place on: `offset` is that place, in [0, 1).
    """
    found = _some(store, "gone_at IS NOT NULL", (), limit)
    found += _some(
        store,
        _LATE,
        (now.boot, now.mono),
        limit - len(found),
    )
    newest = store.row("SELECT coalesce(max(id), 0) FROM owners")[0]
    found += _some(store, "gone_at IS NULL AND id >= ?", (int(newest * offset),), limit - len(found))
    return list({owner.id: owner for owner in found}.values())


def all_of_them(store: Store) -> list[Owner]:
    """Every owner in the registry, dead ones included."""
    return _some(store, "1", (), -1)


def of_jobs(store: Store, job_ids: Iterable[int]) -> list[Owner]:
    """The owners of these jobs, each once."""
    wanted = f"[{','.join(map(str, job_ids))}]"
    condition = "id IN (SELECT owner FROM jobs WHERE id IN (SELECT value FROM json_each(?)))"
    return _some(store, condition, (wanted,), -1)


def _some(store: Store, condition: str, bindings: tuple[object, ...], limit: int) -> list[Owner]:
    query = f"SELECT {_COLUMNS} FROM owners WHERE {condition} ORDER BY id LIMIT {limit}"
    return [Owner(*row) for row in store.execute(query, bindings)]


def hand_over(store: Store, job: Job, heir: int) -> bool:
    """Make another owner that of a job, with its slots; False if it is no longer the one that was read."""
    store.execute(
        "UPDATE jobs SET owner = ?, epoch = epoch + 1"
        " WHERE id = ? AND revision = ? AND epoch = ? AND owner IS ?",
        (heir, job.id, job.revision, job.epoch, job.owner),
    )
    if store.connection.changes() != 1:
        return False
    store.execute("UPDATE admissions SET owner = ? WHERE job_id = ?", (heir, job.id))
    return True


def crowd(store: Store) -> tuple[int, int | None]:
    """How many live owners there are, and how often a second they are to look together; None: as usual."""
    count, looks = store.row(
        f"SELECT count(*), (SELECT {LOOKS_IN_FORCE} FROM configuration) FROM owners WHERE gone_at IS NULL"
    )
    return count, looks


def is_anyone_late(store: Store, now: Now) -> bool:
    """Whether an owner has let its lease expire, or is known to be dead: a reason to look closer."""
    for condition in ("gone_at IS NOT NULL", _LATE):
        query = f"SELECT 1 FROM owners WHERE {condition} LIMIT 1"
        if store.row(query, (now.boot, now.mono) if "?" in condition else ()) is not None:
            return True
    return False


def renew_lease(store: Store, owner: int, now: Now) -> None:
    """Promise to be alive for another LEASE."""
    store.execute(
        "UPDATE owners SET lease_boot = ?, lease_mono = ?, lease_wall = ? WHERE id = ?",
        (now.boot, now.mono + LEASE, now.wall + LEASE, owner),
    )


def keep_lease(store: Store, owner: int, now: Now) -> None:
    """Renew a lease that this connection has not renewed just now."""
    by, at = store.leasing or store.leased
    if by != owner or not 0 <= now.mono - at < _JUST_NOW:
        renew_lease(store, owner, now)
        store.leasing = (owner, now.mono)


def retire(store: Store, owner: int) -> None:
    """Say goodbye for an owner that has no job any more."""
    store.execute("DELETE FROM owners WHERE id = ?", (owner,))


def serve(
    store: Store, owner: int, queues: Mapping[str, int | None], places: int, accepting: bool = True
) -> None:
    """Say which queues a worker claims from, each with its ceiling or None, and how many jobs at a time."""
    store.execute("UPDATE owners SET accepting = ?, places = ? WHERE id = ?", (int(accepting), places, owner))
    for queue, ceiling in queues.items():
        store.execute(
            "INSERT INTO worker_queues (owner, queue, ceiling) VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET ceiling = excluded.ceiling",
            (owner, queue, ceiling),
        )


def stop_accepting(store: Store, owner: int) -> None:
    """A worker claims nothing more."""
    store.execute("UPDATE owners SET accepting = 0 WHERE id = ?", (owner,))


def show_up(store: Store, owner: int) -> None:
    """A worker that had left an offer unanswered is back."""
    store.execute("UPDATE owners SET silent = 0 WHERE id = ? AND silent", (owner,))


def bury(store: Store, owner: int, now: Now) -> None:
    """Note that an owner was proven dead; what it left in line does not compete."""
    store.execute("UPDATE owners SET gone_at = ? WHERE id = ? AND gone_at IS NULL", (now.wall, owner))
    store.execute("UPDATE jobs SET in_line = 2 WHERE owner = ? AND in_line = 1", (owner,))

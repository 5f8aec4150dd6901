"""The registry of owners: who they are, which lock proves their life, and their leases."""

from __future__ import annotations

from inturn.core.moment import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# A lease is renewed three times before it would expire (µs).
LEASE = 10 * SECOND
RENEW_EVERY = 3 * SECOND


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


def count_live(store: Store) -> int:
    """How many live owners there are: by that the polls of a crowd are stretched."""
    return int(store.row("SELECT count(*) FROM owners WHERE gone_at IS NULL")[0])


def renew_lease(store: Store, owner: int, now: Now) -> None:
    """Promise to be alive for another LEASE."""
    store.execute(
        "UPDATE owners SET lease_boot = ?, lease_mono = ?, lease_wall = ? WHERE id = ?",
        (now.boot, now.mono + LEASE, now.wall + LEASE, owner),
    )


def retire(store: Store, owner: int) -> None:
    """Say goodbye for an owner that has no job any more."""
    store.execute("DELETE FROM owners WHERE id = ?", (owner,))


def serve(
    store: Store, owner: int, queues: Mapping[str, int | None], places: int, accepting: bool = True
) -> None:
    """Say which queues a worker claims from, each with its ceiling or None, and how many jobs at a time."""
    store.execute("UPDATE owners SET accepting = ?, places = ? WHERE id = ?", (int(accepting), places, owner))
    for queue, ceiling in queues.items():
        store.execute("INSERT OR REPLACE INTO worker_queues VALUES (?, ?, ?)", (owner, queue, ceiling))


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

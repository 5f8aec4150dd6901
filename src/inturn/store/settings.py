"""Capacities and the configuration file that they came from."""

from __future__ import annotations

from inturn.core.held import Lane
from inturn.store import held
from inturn.store.rows import LOOKS_IN_FORCE, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple


_POOL = ("name", "slots", "declared", "devices", "per_device", "variable", "others")
_APPLIED = ("path", "digest", "mtime_ns", "size", "inode", "defaults", "applied_at")


class Applied(NamedTuple):
    """The configuration file last applied. `signature` is (mtime in ns, size, inode).

    `defaults` is a JSON object, or '' if there are none. `looks_per_second` is None if the file does not say
    how often all who wait look at the store.
    """

    path: str
    digest: str
    signature: tuple[int, int, int]
    defaults: str
    applied_at: int
    looks_per_second: int | None = None


class Pool(NamedTuple):
    """A capacity; the store-wide one has an empty name. `slots` is None for unlimited.

    `declared` says that the configuration file gives it. `devices` is empty for a plain pool; `per_device`
    admissions share one device, `variable` names a run's devices in its environment, and `others` is `none`
    or `all`: what runs outside the pool see of the devices.
    """

    name: str
    slots: int | None
    declared: bool
    devices: tuple[str, ...] = ()
    per_device: int = 1
    variable: str = ""
    others: str = "none"


def applied(store: Store) -> Applied | None:
    """What was last applied, or None."""
    row = store.row(f"SELECT {', '.join((*_APPLIED, LOOKS_IN_FORCE))} FROM configuration")
    return None if row is None else Applied(row[0], row[1], row[2:5], *row[5:])


def note_applied(store: Store, fresh: Applied) -> None:
    """Remember which file the capacities came from."""
    columns = ("id", *_APPLIED, "looks_per_second", "asked")
    values = (1, fresh.path, fresh.digest, *fresh.signature, *fresh[3:], fresh.digest)
    _put(store, "configuration", columns, values)


def pools(store: Store) -> list[Pool]:
    """All capacities, the store-wide one first if it is limited."""
    rows = store.execute(f"SELECT {', '.join(_POOL)} FROM pools ORDER BY name")
    return [
        Pool(name, slots, bool(declared), tuple(devices.split(",")) if devices else (), *rest)
        for name, slots, declared, devices, *rest in rows
    ]


def set_pool(store: Store, pool: Pool) -> None:
    """Add or change a capacity."""
    name, slots, declared, devices, *rest = pool
    _put(store, "pools", _POOL, (name, slots, int(declared), ",".join(devices), *rest))


def remove_pool(store: Store, name: str) -> None:
    """Forget a capacity: without a row the store is unlimited, and a pool does not exist.

    Another pool that gets its name later is not paused because this one was.
    """
    store.execute("DELETE FROM pools WHERE name = ?", (name,))
    held.release(store, Lane("pool", name))


def _put(store: Store, table: str, columns: tuple[str, ...], values: Iterable[object]) -> None:
    """Add the row that the first column names, or change it; what else a newer schema has there stays."""
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns[1:])
    store.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks(columns)})"
        f" ON CONFLICT DO UPDATE SET {changes}",
        tuple(values),
    )


def live_jobs_in(store: Store, name: str) -> int:
    """How many jobs that have not ended name the pool."""
    return int(store.row("SELECT count(*) FROM jobs WHERE phase <> 'completed' AND pool = ?", (name,))[0])

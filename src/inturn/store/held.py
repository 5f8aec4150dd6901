"""Queues and pools that are paused as a whole."""

from __future__ import annotations

from inturn.core.held import Held
from inturn.store.rows import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.held import Lane
    from inturn.core.moment import Now
    from inturn.store.db import Store


def load(store: Store) -> Held:
    """All that are paused."""
    found: dict[str, set[str]] = {"queue": set(), "pool": set()}
    for kind, name in store.execute("SELECT kind, name FROM held"):
        found[kind].add(name)
    return Held(frozenset(found["queue"]), frozenset(found["pool"]))


def hold(store: Store, lane: Lane, now: Now) -> bool:
    """Pause a queue or pool; False if it is paused already."""
    store.execute("INSERT OR IGNORE INTO held (kind, name, since) VALUES (?, ?, ?)", (*lane, now.wall))
    return store.connection.changes() == 1


def release(store: Store, lane: Lane) -> bool:
    """Let a queue or pool go on; False if it is not paused."""
    store.execute("DELETE FROM held WHERE kind = ? AND name = ?", tuple(lane))
    return store.connection.changes() == 1


def holders_in(store: Store, lane: Lane, phases: tuple[str, ...]) -> list[int]:
    """The ids of jobs of a queue or pool that hold slots and are in one of these phases."""
    column = {"queue": "queue", "pool": "pool"}[lane.kind]
    query = f"""
        SELECT job_id FROM admissions JOIN jobs ON jobs.id = job_id
        WHERE admissions.{column} = ? AND phase IN ({marks(phases)}) ORDER BY job_id
    """
    return [job_id for (job_id,) in store.execute(query, (lane.name, *phases))]

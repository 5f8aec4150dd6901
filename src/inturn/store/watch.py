"""Looking at many jobs again and again, at the cost of one statement while nothing has happened to them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from inturn.store.db import Store


def revisions(store: Store, job_ids: Iterable[int]) -> dict[int, int]:
    """The revision of each of these jobs that exists."""
    wanted = f"[{','.join(map(str, job_ids))}]"
    rows = store.execute(
        "SELECT id, revision FROM jobs WHERE id IN (SELECT value FROM json_each(?))", (wanted,)
    )
    return dict(rows)

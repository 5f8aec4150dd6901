"""Putting jobs into queues: one transaction, and whoever serves the queue is told."""

from __future__ import annotations

from inturn.service import dependencies, intake
from inturn.store import lanes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.spec import Submission
    from inturn.service.context import Context


def add(context: Context, submissions: Sequence[Submission]) -> list[int]:
    """Store queued jobs, all or none; returns their ids in the same order.

    Raises InturnError for whatever is wrong with one of them; see `intake.store_all`.
    """
    store = context.store
    assert store is not None
    dependencies.check_references(submissions)
    now = context.now()
    try:
        with store.writing():
            return intake.store_all(context, submissions, [None] * len(submissions), now)
    except intake.AlreadyThere as found:
        return [found.job_id]


def unserved(context: Context, submissions: Sequence[Submission]) -> list[str]:
    """The queues of these submissions that no live worker serves."""
    assert context.store is not None
    served = lanes.served(context.store)
    return sorted({submission.queue for submission in submissions} - served)

"""Putting jobs into queues: one transaction, and whoever serves the queue is told."""

from __future__ import annotations

from inturn.host import faults
from inturn.service import intake
from inturn.store import jobs, lanes, specs
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.moment import Now
    from inturn.core.spec import Submission
    from inturn.service.context import Context
    from inturn.service.intake import Ahead
    from inturn.store.db import Store
    from inturn.store.newcomers import Draft

# From so many jobs on it pays to lay them out before the write lock is taken.
MANY = 500


def add(context: Context, submissions: Sequence[Submission]) -> list[int]:
    """Store queued jobs, all or none; returns their ids in the same order.

    Of one whose key belongs to a job under way, it is the id of that.
    Raises InturnError for whatever is wrong with one of them; see `intake`.
    """
    store = context.store
    assert store is not None
    now = context.now()
    drafts = intake.draft_all(submissions, owned=False, now=now)
    if len(drafts) < MANY:
        return _store(context, store, drafts, now, None)
    from inturn.store import bulk  # few submissions are so large

    ahead = intake.look_ahead(drafts, now)
    with bulk.laid_out(store, drafts, ahead.gates):
        return _store(context, store, drafts, now, ahead)


def _store(
    context: Context, store: Store, drafts: Sequence[Draft], now: Now, ahead: Ahead | None
) -> list[int]:
    try:
        with faults.commit("enqueue", store.writing()):
            stored = intake.store_all(context, drafts, [None] * len(drafts), now, ahead)
    except CommitUnknown as failure:
        fresh = [at for at in range(len(drafts)) if at not in stored.twins]
        if fresh and not _is_stored(store, stored.ids[fresh[0]], drafts[fresh[0]].submission, now):
            raise intake.nothing_stored(failure) from failure
    return stored.ids


def _is_stored(store: Store, job_id: int, submission: Submission, now: Now) -> bool:
    """Whether it is our job that has this id, and not one that somebody else has stored since."""
    job = jobs.load(store, job_id)
    if job is None or (job.submitted_at, job.name) != (now.wall, submission.name):
        return False
    return specs.load(store, job_id).argv == submission.spec.argv


def unserved(context: Context, submissions: Sequence[Submission]) -> list[str]:
    """The queues of these submissions that no live worker serves."""
    assert context.store is not None
    served = lanes.served(context.store)
    return sorted({submission.queue for submission in submissions} - served)

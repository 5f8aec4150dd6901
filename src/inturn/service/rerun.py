"""New jobs from the specifications of old ones."""

from __future__ import annotations

from inturn import __version__
from inturn.core.again import repetition
from inturn.host import faults
from inturn.service import enqueue, intake, nursery, submit
from inturn.service.acting import existing, load
from inturn.store import owners, reads, specs
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inturn.core.moment import Now
    from inturn.core.spec import Submission
    from inturn.service.context import Context
    from inturn.service.owned import Newcomer
    from inturn.store.db import Store


def rerun(context: Context, job_ids: Iterable[int], with_gates: bool = False) -> list[int]:
    """Submit each job once more, in whatever state it is; the ids of the new ones, in the same order.

    All or none. A new job has the command, surroundings, policy, queue, pool, slots, priority, name and tags
    of the old one, but neither its delay nor its key; and only `with_gates` does it wait for the same jobs
    and conditions. Raises InturnError `not_found`, and as a submission does.
    """
    store = existing(context)
    with store.reading():
        wanted = [_like(store, job_id, with_gates) for job_id in dict.fromkeys(job_ids)]
    supervised = sum(not submission.queue for submission in wanted)
    if not supervised:
        return enqueue.add(context, wanted)
    if supervised == len(wanted):
        return submit.run(context, wanted)
    return nursery.hatch(context, supervised, lambda newcomers: _store_mixed(context, wanted, newcomers))[0]


def _like(store: Store, job_id: int, with_gates: bool) -> Submission:
    (view,) = reads.views(store, [load(store, job_id)], detailed=True)
    parents = {edge.parent_id: load(store, edge.parent_id) for edge in view.edges} if with_gates else None
    return repetition(view, specs.load(store, job_id), parents)


def _store_mixed(
    context: Context, submissions: Sequence[Submission], newcomers: Sequence[Newcomer]
) -> list[int]:
    """Store supervised jobs, each with one of the newcomers, and queued ones, in one transaction."""
    store = existing(context)
    stored: list[int] = []
    try:
        with faults.commit("rerun", store.writing()):
            now = context.now()
            heirs = iter(newcomers)
            rows = [None if one.queue else _owner(store, heirs, now) for one in submissions]
            drafts = [draft for one in submissions for draft in intake.draft_all([one], not one.queue, now)]
            stored = intake.store_all(context, drafts, rows, now).ids
    except CommitUnknown as failure:
        if owners.by_token(store, newcomers[0].token) is None:
            raise intake.nothing_stored(failure) from failure
    return stored


def _owner(store: Store, heirs: Iterator[Newcomer], now: Now) -> int:
    return owners.register(store, "supervisor", *next(heirs), __version__, now)

"""The first thing that a supervisor does: say in the store that the job submitted to it is in its hands.

It is apart from the rest because somebody waits for it: what runs a job is loaded when the answer is given.
"""

from __future__ import annotations

from inturn.core import transitions
from inturn.host import faults
from inturn.store import gates, jobs
from inturn.store.transaction import CommitUnknown, Stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.store.db import Store


def accept(store: Store, owner: int, now: Now) -> None:
    """Accept what was submitted in the name of an owner, unless it was cancelled or given up meanwhile.

    May be repeated. Raises InturnError or CommitUnknown if that cannot be stored.
    """
    for job in jobs.owned_by(store, owner):
        if job.phase == "submitting":
            try:
                _accept(store, owner, job, now)
            except Stale:
                pass  # It is nobody's business any more.
            except CommitUnknown:
                current = jobs.load(store, job.id)
                if current is not None and current.phase == "submitting":
                    raise


def _accept(store: Store, owner: int, job: Job, now: Now) -> None:
    gated = gates.edges(store, job.id) or gates.conditions(store, job.id)
    event = transitions.Event("accepted", "waiting" if gated else "queued")
    transition = transitions.apply(job, event, now)
    with faults.commit("task", store.writing(), event.kind):
        jobs.commit(store, [transition], now, owner)

"""The first thing that a supervisor does: say in the store that the job submitted to it is in its hands.

It is apart from the rest because somebody waits for it: what runs a job is loaded when the answer is given.
"""

from __future__ import annotations

from inturn.core import transitions
from inturn.host import faults
from inturn.store import gates, jobs, owners
from inturn.store.transaction import CommitUnknown, Stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.store.db import Store

# So many jobs are accepted in one transaction: others want to write as well.
AT_ONCE = 100


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


def accept_all(store: Store, tokens: Sequence[str], clock: Callable[[], Now]) -> None:
    """Accept what was submitted in the names of many owners, on their behalf and in few transactions.

    Raises InturnError or CommitUnknown if that cannot be stored: then each may still do it itself.
    """
    for start in range(0, len(tokens), AT_ONCE):
        with faults.commit("task", store.writing(), "accepted"):
            now = clock()
            present = [owners.by_token(store, token) for token in tokens[start : start + AT_ONCE]]
            found = [job for one in present if one is not None for job in jobs.owned_by(store, one.id)]
            fresh = [job for job in found if job.phase == "submitting"]
            jobs.commit(store, [_accepted(store, job, now) for job in fresh], now)


def _accept(store: Store, owner: int, job: Job, now: Now) -> None:
    transition = _accepted(store, job, now)
    with faults.commit("task", store.writing(), transition.event.kind):
        jobs.commit(store, [transition], now, owner)


def _accepted(store: Store, job: Job, now: Now) -> transitions.Transition:
    gated = gates.edges(store, job.id) or gates.conditions(store, job.id)
    return transitions.apply(job, transitions.Event("accepted", "waiting" if gated else "queued"), now)

"""What the verbs that change jobs share: one transaction for all, and what became of each."""

from __future__ import annotations

from time import sleep

from inturn.core.moment import MILLISECOND, SECOND
from inturn.errors import InturnError
from inturn.host import faults
from inturn.store import jobs, settle, watch
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import NamedTuple

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.transitions import Transition
    from inturn.service.context import Context
    from inturn.store.db import Store

    Choose = Callable[[Store, Job, Now], Transition | str]
else:
    from inturn.core.records import NamedTuple

# In these a job is for moments only: somebody is just about to commit what follows (µs).
PASSING = ("submitting", "starting")
_PATIENCE = 2 * SECOND
_PAUSE = 20 * MILLISECOND

# A message names at most so many jobs.
_NAMED = 10


class NoSuchJob(InturnError):
    """There is no job with the id `job_id`, or no more: InturnError `not_found`."""

    def __init__(self, job_id: int) -> None:
        super().__init__("not_found", f"there is no job {job_id}", "See which there are: inturn list --all")
        self.job_id = job_id

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.job_id,)


class Acted(NamedTuple):
    """What became of one job, which is as it is afterwards.

    `refusal` is why nothing was done to it, as a sentence about it; empty if something was. `error` is what
    such a refusal is raised as if it stands alone, None for the `conflict` that it mostly is.
    """

    job: Job
    refusal: str = ""
    error: InturnError | None = None


def act(context: Context, job_ids: Iterable[int], choose: Choose) -> list[Acted]:
    """Do to each job what `choose` says, in one transaction; what became of each, in the order given.

    `choose` is given the store and the job as it is, and answers with a transition, or with why there is
    none. A job that is being submitted or started is asked about again a moment later, for some seconds.
    Raises InturnError `not_found`, and whatever `choose` raises; then nothing is done at all.
    """
    store = existing(context)
    wanted = list(dict.fromkeys(job_ids))
    found: dict[int, Acted] = {}
    give_up_at = context.now().mono + _PATIENCE
    while True:
        pending = [one for one in wanted if one not in found or _may_be_asked_again(found[one])]
        found |= _act(context, store, pending, choose)
        if context.now().mono >= give_up_at or not any(map(_may_be_asked_again, found.values())):
            return [found[job_id] for job_id in wanted]
        sleep(_PAUSE / SECOND)


def _may_be_asked_again(acted: Acted) -> bool:
    return bool(acted.refusal) and acted.job.phase in PASSING


def _act(context: Context, store: Store, job_ids: Sequence[int], choose: Choose) -> dict[int, Acted]:
    found: dict[int, Acted] = {}
    try:
        with faults.commit("act", store.writing()):
            now = context.now()
            jobs.commit(store, settle.late(store, now), now)
            chosen = {job_id: choose(store, load(store, job_id), now) for job_id in job_ids}
            batch = [one for one in chosen.values() if not isinstance(one, str)]
            jobs.commit(store, batch, now)
            settle_all(store, [transition.after for transition in batch], now)
            for job_id, one in chosen.items():
                found[job_id] = Acted(load(store, job_id), one if isinstance(one, str) else "")
    except CommitUnknown as failure:
        check_reached(store, [one.job for one in found.values()], failure)
    return found


def settle_all(store: Store, changed: Iterable[Job], now: Now) -> None:
    """Judge the gates of those of these jobs that wait, as they are now, and what is overdue since."""
    waiting = [job for job in changed if job.phase == "waiting"]
    jobs.commit(store, [found for job in waiting for found in settle.job(store, job, now)], now)
    jobs.commit(store, settle.late(store, now), now)


def check_reached(store: Store, written: Iterable[Job], failure: CommitUnknown) -> None:
    """After a commit that seemed to fail: raise InturnError `failed` unless it is there all the same.

    `written` are the jobs as it leaves them. Anybody may have gone on from that, so only a revision that was
    not reached is proof.
    """
    wanted = {job.id: job.revision for job in written}
    reached = watch.revisions(store, wanted)
    if any(reached.get(job_id, revision) < revision for job_id, revision in wanted.items()):
        raise InturnError("failed", str(failure), "Nothing was changed: try again.") from failure


def refusal(acted: Sequence[Acted], participle: str, hint: str) -> InturnError | None:
    """The error that those make to whom nothing was done, or None.

    `incomplete` if that is not all of them, else `conflict` with the `hint`, unless all have an `error` of
    their own, with the same code.
    """
    left = [one for one in acted if one.refusal]
    if not left:
        return None
    told = "; ".join(f"job {one.job.id}: {one.refusal}" for one in left[:_NAMED])
    message = f"not {participle}: {told}" + ("; …" if len(left) > _NAMED else "")
    if len(left) == len(acted):
        own = left[0].error
        if own is not None and all(one.error is not None and one.error.code == own.code for one in left):
            return InturnError(own.code, message, own.hint)
        return InturnError("conflict", message, hint)
    return InturnError("incomplete", message, f"The other {len(acted) - len(left)} were {participle}.")


def standing(job: Job) -> str:
    """Where a job is, as a sentence about it: why something cannot be done to it."""
    if job.phase == "completed":
        return f"it has ended ({job.outcome})"
    return {
        "submitting": "its supervisor is just taking it over",
        "starting": "it is just being started",
        "stopping": "it is being stopped",
        "paused": "it is paused already",
    }.get(job.phase, f"it is {job.phase}")


def load(store: Store, job_id: int) -> Job:
    """The job with this id. Raises NoSuchJob."""
    job = jobs.load(store, job_id)
    if job is None:
        raise NoSuchJob(job_id)
    return job


def existing(context: Context) -> Store:
    """The store. Raises InturnError `not_found` if there is none: then there is no job either."""
    if context.store is None:
        raise InturnError(
            "not_found",
            f"there is no store in {context.directory}",
            "Name another with --dir, or submit a job.",
        )
    return context.store

"""Asking for slots on behalf of a job, and reserving the run that they are for."""

from __future__ import annotations

import os

from inturn.core import admission, transitions
from inturn.core.job import IN_LINE, Run
from inturn.core.layout import JOBS_PER_DIRECTORY
from inturn.host import faults
from inturn.store import admissions, due, held, jobs, owners
from inturn.store.transaction import Stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.transitions import Transition
    from inturn.owners.tools import Tools
    from inturn.store.db import Store


def log_of(job_id: int, number: int) -> str:
    """The stem of the logs of a run, relative to the store."""
    return f"logs/{job_id // JOBS_PER_DIRECTORY}/{job_id}.{number}"


class Bidder:
    """Asks for slots on behalf of a supervisor's job, poll by poll.

    `yields`: at the last look the slots were left to an older request. Should nobody take them, only another
    look will tell.
    """

    def __init__(self, tools: Tools) -> None:
        self.yields = False
        self._tools = tools
        # It was next in line when it last looked, and is ready: the next look is likely to be its turn.
        self._is_next = False
        # It was refused in a way that only a change of the store can change.
        self._refused = False

    def look_again(self) -> None:
        """The store has changed."""
        self._refused = self.yields = False

    def request(self, job: Job, now: Now) -> Transition | None:
        """Ask for the slots of a job that is due; returns the committed transition, or None if it must wait.

        The race for the last slot is settled by the write transaction. A refusal leaves the place in line as
        it is. Raises Stale if the job has changed since it was read.
        """
        if self._refused or not (self._is_next or self._look(job)):
            return None
        store = self._tools.store
        self._is_next = False
        with faults.commit("admit", store.writing()):
            due.promote(store, now)
            admissions.show_up(store, job)
            current = jobs.load(store, job.id)
            if current is None or (current.revision, current.epoch) != (job.revision, job.epoch):
                raise Stale(f"job {job.id} has changed")
            decision = admissions.settle(store, current, now)
            self.yields = decision.reason == "yields"
            return admit(self._tools, current, decision, now) if decision.admitted else None

    def _look(self, job: Job) -> bool:
        """Look without the write lock, where most polls end; returns whether to ask with it."""
        decision = prospect(self._tools.store, job)
        if decision is None:
            return True
        # Whether an older request leaves its offer unanswered is found out with the lock held, in time.
        self.yields = decision.reason == "yields"
        self._refused = is_refused(decision)
        if decision.reason == NEXT.reason:
            self._is_next = True
            self._tools.engine.prepare()
        return not self._refused


# What is decided on a request that has nobody before it, and waits for slots to be given back.
NEXT = admission.Decision(False, "next")


def is_refused(decision: admission.Decision) -> bool:
    """Whether nothing is to be done about a request until the store has changed."""
    return not (decision.admitted or decision.reason == "yields")


def prospect(store: Store, job: Job) -> admission.Decision | None:
    """What would be decided on a job now; None if it has to be seen first that it stands in line."""
    # Asked of the store: an earlier refusal may have put the job into the line unbeknown to `job`.
    if admissions.place_of(store, job.id) != IN_LINE:
        return None
    with store.reading():
        if held.load(store).over(job.queue, job.pool):
            return admissions.PAUSED
        mine = admissions.request_of(job)
        room, competing = admissions.view(store, mine)
        decision = admission.decide(mine, competing, room)
    if decision.reason == "full" and all(mine.place <= other.place for other in competing):
        return NEXT
    return decision


def admit(tools: Tools, job: Job, decision: admission.Decision, now: Now, wake: bool = True) -> Transition:
    """Take the slots of a job whose turn it is and reserve the run, in the present write transaction.

    Whoever else may be admitted now is noted to be woken, unless that is left to the caller.
    """
    number = job.runs + 1
    run = Run(
        job_id=job.id,
        number=number,
        attempt=job.attempts + 1,
        round=job.round,
        token=os.urandom(12).hex(),
        log=log_of(job.id, number),
        admitted_at=now.wall,
        devices=admissions.devices_for(tools.store, job),
    )
    if decision.passed is not None:
        admissions.count_bypass(tools.store, decision.passed)
    event = transitions.Event("admitted", "starting", run=run, owner=tools.owner)
    transition = transitions.apply(job, event, now)
    jobs.commit(tools.store, [transition], now, tools.owner, wake)
    owners.keep_lease(tools.store, tools.owner, now)
    return transition

"""Submitting supervised jobs: each is stored already owned, and handed over to its supervisor."""

from __future__ import annotations

import os

from inturn.core import transitions
from inturn.errors import InturnError
from inturn.host import clock, detach, faults, identity, locks, wake
from inturn.host.paths import discard, owner_files
from inturn.service import dependencies, standby
from inturn.service.owned import Newcomer, store_owned
from inturn.store import jobs, owners
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.spec import Submission
    from inturn.service.context import Context

# How long a supervisor may take to answer (µs). A machine may be slow; a dead supervisor is noticed at once.
ANSWER_TIMEOUT = 60_000_000


def run(context: Context, submissions: Sequence[Submission], staying: bool = False) -> list[int]:
    """Submit supervised jobs, all or none; returns their ids once each has a supervisor that answers for it.

    `staying`: this process is not about to end, so that supervisors must not be its children: nobody would
    reap them.
    Raises InturnError: whatever is wrong with a request, before anything is stored, or `submission_failed` if
    no supervisor took a job over; that job is then completed as such.
    """
    dependencies.check_references(submissions)  # before supervisors are started in vain
    if len(submissions) == 1 and not staying:
        return [_run_one(context, submissions[0])]
    from inturn.service import nursery

    return nursery.run_many(context, submissions)


def _run_one(context: Context, submission: Submission) -> int:
    assert context.store is not None
    one = standby.take(context)
    token, lock, child = one.token, one.lock, one.child
    stored = False
    try:
        try:
            who = identity.of(child.pid) or identity.Identity(child.pid, 0, clock.boot_id(), 0)
            newcomer = Newcomer(token, who.text(), locks.file_id(lock))
            (job_id,), twins = store_owned(context, [submission], [newcomer])
            stored = not twins
        finally:
            os.close(child.go)  # The word that it waits for.
    finally:
        os.close(lock)
        if not stored:
            discard(owner_files(context.directory, token)[0])
    faults.point("submit.told")
    if not stored:
        os.close(child.answer)
        return job_id
    try:
        ready = wake.wait([child.answer], ANSWER_TIMEOUT)
        answer = os.read(child.answer, 4096) if ready else b"it did not answer"
    finally:
        os.close(child.answer)
    faults.point("submit.answered")
    if answer != detach.READY and give_up(context, job_id):
        why = answer.decode("utf-8", "replace") or "it ended before it had taken the job over"
        raise InturnError(
            "submission_failed",
            f"job {job_id} has no supervisor: {why}",
            f"The job was not started. See: inturn show {job_id}",
        )
    return job_id


def give_up(context: Context, job_id: int) -> bool:
    """End a job that no supervisor has answered for; False if it was accepted after all.

    Raises InturnError `failed` if that cannot be stored.
    """
    store = context.store
    assert store is not None
    try:
        with faults.commit("give_up", store.writing()):
            job = jobs.load(store, job_id)
            if job is None or job.phase != "submitting":
                return False  # Accepted late, or cancelled by somebody meanwhile.
            event = transitions.Event("submission_failed", "completed", "no_supervisor", "submission_failed")
            now = context.now()
            jobs.commit(store, [transitions.apply(job, event, now)], now)
            if job.owner is not None:
                owners.bury(store, job.owner, now)
    except CommitUnknown as failure:
        job = jobs.load(store, job_id)
        if job is not None and job.phase == "submitting":
            raise InturnError(
                "failed", str(failure), f"Job {job_id} may still be started: see inturn show {job_id}"
            ) from failure
        return job is not None and job.outcome == "submission_failed"
    return True

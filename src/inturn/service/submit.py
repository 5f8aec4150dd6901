"""Submitting a supervised job: it is stored already owned, and handed over to its supervisor."""

from __future__ import annotations

import os

from inturn import __version__
from inturn.core import transitions
from inturn.errors import InturnError
from inturn.host import clock, detach, identity, locks, wake
from inturn.host.paths import owner_files
from inturn.service import intake
from inturn.store import jobs, owners
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.spec import Submission
    from inturn.host.detach import Detached
    from inturn.service.context import Context
    from inturn.store.db import Store

# How long a supervisor may take to answer (µs). A machine may be slow; a dead supervisor is noticed at once.
ANSWER_TIMEOUT = 60_000_000


def run(context: Context, submissions: Sequence[Submission]) -> list[int]:
    """Submit supervised jobs; returns their ids once each has a supervisor that answers for it.

    Raises InturnError: whatever is wrong with a request, before anything is stored, or `submission_failed` if
    no supervisor took a job over; that job is then completed as such.
    """
    return [_run_one(context, submission) for submission in submissions]


def _run_one(context: Context, submission: Submission) -> int:
    assert context.store is not None
    token = os.urandom(8).hex()
    lock_path, _ = owner_files(context.directory, token)
    lock = locks.create(lock_path)
    stored = False
    try:
        # The supervisor starts while the transaction runs; it holds the lock from its first instant on.
        environment = {"INTURN_DIR": context.directory, "LC_ALL": "C.UTF-8"}
        child = detach.start((*context.supervisor, context.directory, token), environment, lock)
        try:
            job_id = _store(context, submission, child.pid, token, locks.file_id(lock))
            stored = True
            os.write(child.go, detach.READY)
        finally:
            os.close(child.go)
    except intake.AlreadyThere as found:
        return found.job_id
    finally:
        os.close(lock)
        if not stored:
            os.unlink(lock_path)
    return _handed_over(context, context.store, job_id, child)


def _store(context: Context, submission: Submission, pid: int, token: str, lock: tuple[int, int]) -> int:
    """Store the job together with its owner; returns the job's id."""
    store = context.store
    assert store is not None
    now = context.now()
    who = identity.of(pid) or identity.Identity(pid, 0, clock.boot_id(), 0)
    try:
        with store.writing():
            owner = owners.register(store, "supervisor", token, who.text(), lock, __version__, now)
            return intake.store_job(context, submission, owner, now)
    except CommitUnknown as failure:
        found = owners.by_token(store, token)
        if found is None:
            raise InturnError("failed", str(failure), "Nothing was submitted.") from failure
        return jobs.owned_by(store, found.id)[0].id


def _handed_over(context: Context, store: Store, job_id: int, child: Detached) -> int:
    """Wait for the supervisor's answer; without one, end the job, unless it was accepted after all."""
    try:
        ready = wake.wait([child.answer], ANSWER_TIMEOUT)
        answer = os.read(child.answer, 4096) if ready else b"it did not answer"
    finally:
        os.close(child.answer)
    if answer == detach.READY:
        return job_id
    with store.writing():
        job = jobs.load(store, job_id)
        if job is None or job.phase != "submitting":
            return job_id  # Accepted late, or cancelled by somebody meanwhile.
        owner = job.owner
        event = transitions.Event("submission_failed", "completed", "no_supervisor", "submission_failed")
        now = context.now()
        jobs.commit(store, [transitions.apply(job, event, now)], now)
        if owner is not None:
            owners.bury(store, owner, now)
    why = answer.decode("utf-8", "replace") or "it ended before it had taken the job over"
    raise InturnError(
        "submission_failed",
        f"job {job_id} has no supervisor: {why}",
        f"The job was not started. See: inturn show {job_id}",
    )

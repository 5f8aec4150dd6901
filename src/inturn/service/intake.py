"""Checking a submission against the store and storing it, all inside one write transaction."""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.errors import InturnError
from inturn.service import dependencies
from inturn.service.dependencies import naming_line
from inturn.store import admissions, jobs, settle, specs
from inturn.store.jobs import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.moment import Now
    from inturn.core.spec import Submission
    from inturn.service.context import Context
    from inturn.store.db import Store


class AlreadyThere(Exception):
    """A job with the submission's key is under way: nothing is to be stored."""

    def __init__(self, job_id: int) -> None:
        super().__init__(job_id)
        self.job_id = job_id


def store_job(context: Context, submission: Submission, owner: int | None, now: Now) -> int:
    """Validate and store one job; returns its id. See `store_all`."""
    (job_id,) = store_all(context, [submission], [owner], now)
    return job_id


def store_all(
    context: Context, submissions: Sequence[Submission], owners: Sequence[int | None], now: Now
) -> list[int]:
    """Validate and store jobs, inside the present write transaction; returns their ids in the same order.

    `owners` are the supervisors' rows, None for queued jobs. Dependencies may name other submissions of the
    same batch by `@ref`, later ones too. Queued jobs whose gates are open already are settled at once.

    Raises AlreadyThere, or InturnError: not_found and ambiguous for a dependency, unknown_reference, cycle,
    contradiction, unknown_pool, impossible, conflict for a key under which something else runs. The
    transaction is then undone.
    """
    store = context.store
    assert store is not None
    _check_all(store, submissions)
    stored = _insert_all(store, submissions, owners, now)
    dependencies.store_gates(context, submissions, stored, now)
    gated = [
        job_id
        for job_id, owner, submission in zip(stored, owners, submissions, strict=True)
        if owner is None and submission.edges
    ]
    late = [found for job_id in gated for found in settle.job_by_id(store, job_id, now)]
    jobs.commit(store, late, now)
    for job_id, owner in zip(stored, owners, strict=True):
        if owner is None:
            settle.note_deadlines_of(store, job_id, now)
    admissions.wake_admissible(store, now)
    return stored


def _check_all(store: Store, submissions: Sequence[Submission]) -> None:
    checked: set[tuple[str, int]] = set()
    for submission in submissions:
        with naming_line(submission):
            _check_key(store, submission)
            if (submission.pool, submission.slots) not in checked:
                _check_capacity(store, submission)
                checked.add((submission.pool, submission.slots))


def _insert_all(
    store: Store, submissions: Sequence[Submission], owners: Sequence[int | None], now: Now
) -> list[int]:
    stored: list[int] = []
    environments: dict[int, int] = {}
    array: Array | None = None
    left = 0  # how many jobs of the present array are still to come
    for submission, owner in zip(submissions, owners, strict=True):
        if not left:
            left = submission.array_size
            array = Array(0, left, submission.at_once) if left else None
        environment = environments.get(id(submission.spec.environment))
        if environment is None:
            environment = specs.environment_id(store, submission.spec.environment)
            environments[id(submission.spec.environment)] = environment
        gated = bool(submission.edges or submission.conditions)
        job = jobs.insert(store, submission, gated, owner, environment, now, array)
        if array is not None:
            array = array._replace(id=job.array_id or 0)
            left -= 1
        stored.append(job.id)
    return stored


def _check_key(store: Store, submission: Submission) -> None:
    if submission.key is None:
        return
    found = store.row("SELECT job_id FROM keys WHERE key = ?", (submission.key,))
    if found is None:
        return
    if specs.load(store, found[0]).argv != submission.spec.argv:
        raise InturnError(
            "conflict",
            f"the key {submission.key!r} belongs to job {found[0]}, which runs another command",
            "Use another key, or wait for that job: inturn wait " + str(found[0]),
        )
    raise AlreadyThere(found[0])


def _check_capacity(store: Store, submission: Submission) -> None:
    """Refuse what could never run: an unknown pool, or more slots than there are."""
    limits = dict(store.execute("SELECT name, slots FROM pools"))
    if submission.pool and submission.pool not in limits:
        known = ", ".join(sorted(filter(None, limits))) or "none"
        raise InturnError(
            "unknown_pool",
            f"there is no pool {submission.pool!r}",
            f"Pools: {known}. Declare it in the configuration file, or: inturn pools set {submission.pool} N",
        )
    for scope in (STORE, submission.pool):
        limit = limits.get(scope)
        if limit is not None and submission.slots > limit:
            where = f"pool {scope!r} has" if scope else "the store allows"
            raise InturnError(
                "impossible",
                f"{submission.slots} slots can never be given: {where} {limit}",
                f"Ask for at most {limit} with --slots, or raise the limit.",
            )

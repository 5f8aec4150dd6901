"""Checking a submission against the store and storing it, all inside one write transaction."""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.core.job import Condition
from inturn.core.moment import NO_DEADLINE, Deadline, after
from inturn.core.spec import intersect
from inturn.errors import InturnError
from inturn.service import select
from inturn.store import gates, jobs, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.moment import Now
    from inturn.core.spec import Submission, WantedCondition
    from inturn.service.context import Context
    from inturn.store.db import Store


class AlreadyThere(Exception):
    """A job with the submission's key is under way: nothing is to be stored."""

    def __init__(self, job_id: int) -> None:
        super().__init__(job_id)
        self.job_id = job_id


def store_job(context: Context, submission: Submission, owner: int | None, now: Now) -> int:
    """Validate and store one job; returns its id. `owner` is the supervisor's row, None for a queued job.

    Raises AlreadyThere, or InturnError: not_found and ambiguous for a dependency, contradiction,
    unknown_pool, impossible, conflict for a key under which something else runs. The caller's transaction is
    then undone.
    """
    store = context.store
    assert store is not None
    _check_key(store, submission)
    _check_capacity(store, submission)
    wanted: dict[int, list[tuple[str, ...]]] = {}
    for edge in submission.edges:
        wanted.setdefault(select.resolve(context, edge.selector), []).append(edge.outcomes)
    edges = intersect(wanted)
    conditions = [_condition(position, one, now) for position, one in enumerate(submission.conditions)]
    environment = specs.environment_id(store, submission.spec.environment)
    job = jobs.insert(store, submission, bool(edges or conditions), owner, environment, now)
    gates.insert(store, job.id, edges, conditions)
    return job.id


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


def _condition(position: int, wanted: WantedCondition, now: Now) -> Condition:
    due = NO_DEADLINE
    if wanted.kind == "delay":
        due = after(now, wanted.time)
    elif wanted.kind == "until":
        due = Deadline(wanted.time)
    return Condition(0, position, wanted.kind, wanted.argument, due)

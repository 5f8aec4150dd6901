"""Checking submissions against the store and storing them, all inside one write transaction."""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.errors import InturnError
from inturn.service import dependencies
from inturn.service.dependencies import naming_line
from inturn.store import admissions, jobs, newcomers, settle, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.core.spec import Submission
    from inturn.service.context import Context
    from inturn.store.db import Store
    from inturn.store.newcomers import Draft
    from inturn.store.transaction import CommitUnknown
else:
    from inturn.core.records import NamedTuple


class Stored(NamedTuple):
    """What became of submissions: `ids` are those of their jobs, in their order.

    `twins` are the positions of those for which nothing was stored: a job with the same key is under way, or
    comes earlier in the same batch, and its id stands for theirs.
    """

    ids: list[int]
    twins: Collection[int]


class AlreadyThere(Exception):
    """A job with the submission's key is under way: nothing is to be stored."""

    def __init__(self, job_id: int) -> None:
        super().__init__(job_id)
        self.job_id = job_id


def store_job(context: Context, submission: Submission, owner: int | None, now: Now) -> int:
    """Validate and store one job; returns its id. Raises AlreadyThere, or as `store_all`."""
    stored = store_all(context, draft_all([submission], owner is not None, now), [owner], now)
    if stored.twins:
        raise AlreadyThere(stored.ids[0])
    return stored.ids[0]


def draft_all(submissions: Sequence[Submission], owned: bool, now: Now) -> list[Draft]:
    """Work out what is to be stored: all that can be done before the write lock is taken.

    `owned` says whether supervised jobs are stored with their supervisors. Raises InturnError as
    `dependencies.check_references`.
    """
    dependencies.check_references(submissions)
    return [
        newcomers.draft(one, bool(one.edges or one.conditions), owned and not one.queue, now)
        for one in submissions
    ]


def store_all(context: Context, drafts: Sequence[Draft], owners: Sequence[int | None], now: Now) -> Stored:
    """Validate and store jobs, inside the present write transaction.

    `owners` are the supervisors' rows, None for queued jobs. Dependencies may name other submissions of the
    same batch by `@ref`, later ones too. Queued jobs whose gates are open already are settled at once.

    Raises InturnError: not_found and ambiguous for a dependency, contradiction, invalid_value for too many
    of them, unknown_pool, impossible, conflict for a key under which something else runs. The transaction is
    then undone.
    """
    store = context.store
    assert store is not None
    submissions = [draft.submission for draft in drafts]
    under_way, repeated = _twins(store, submissions)
    twins = {*under_way, *repeated}
    fresh = [at for at in range(len(drafts)) if at not in twins]
    _check_capacities(store, [submissions[at] for at in fresh])
    resolved = dependencies.resolve(context, [submissions[at] for at in fresh])
    new_ids = newcomers.insert_all(
        store,
        [drafts[at] for at in fresh],
        [owners[at] for at in fresh],
        _environments(store, [submissions[at] for at in fresh]),
        now,
    )
    known = under_way | dict(zip(fresh, new_ids, strict=True))
    ids = [known[repeated.get(at, at)] for at in range(len(drafts))]
    dependencies.store_gates(store, submissions, ids, fresh, resolved, now)
    _settle(store, [(ids[at], submissions[at]) for at in fresh if owners[at] is None], now)
    admissions.wake_admissible(store, now)
    return Stored(ids, twins)


def _settle(store: Store, queued: Sequence[tuple[int, Submission]], now: Now) -> None:
    """Do for queued jobs that have just been stored what has to be done for jobs that nobody owns."""
    gated = [job_id for job_id, submission in queued if submission.edges]
    if gated:
        jobs.commit(store, settle.newcomers(store, gated[0], gated[-1], now), now)
    for job_id, submission in queued:
        if submission.spec.job_timeout is not None or submission.spec.wait_abort_at is not None:
            settle.note_deadlines_of(store, job_id, now)


def _environments(store: Store, submissions: Sequence[Submission]) -> list[int]:
    """The ids of their environments; most submissions of a batch share one."""
    known: dict[int, int] = {}
    for submission in submissions:
        environment = submission.spec.environment
        if id(environment) not in known:
            known[id(environment)] = specs.environment_id(store, environment)
    return [known[id(submission.spec.environment)] for submission in submissions]


def _twins(store: Store, submissions: Sequence[Submission]) -> tuple[dict[int, int], dict[int, int]]:
    """By position: the job under way with the same key, and the position before with the same key.

    Raises InturnError `conflict` if another command runs under a key.
    """
    under_way: dict[int, int] = {}
    repeated: dict[int, int] = {}
    first: dict[str, int] = {}
    for at, submission in enumerate(submissions):
        if submission.key is None:
            continue
        with naming_line(submission):
            row = store.row("SELECT job_id FROM keys WHERE key = ?", (submission.key,))
            if row is not None:
                under_way[at] = row[0]
                _check_same(submission, specs.load(store, row[0]).argv, f"job {row[0]}")
            elif submission.key in first:
                repeated[at] = first[submission.key]
                earlier = submissions[repeated[at]]
                _check_same(submission, earlier.spec.argv, f"the job of {earlier.origin}")
            else:
                first[submission.key] = at
    return under_way, repeated


def _check_same(submission: Submission, argv: tuple[bytes, ...], whose: str) -> None:
    if argv != submission.spec.argv:
        raise InturnError(
            "conflict",
            f"the key {submission.key!r} belongs to {whose}, which runs another command",
            "Use another key, or wait for the end of that job.",
        )


def _check_capacities(store: Store, submissions: Sequence[Submission]) -> None:
    checked: set[tuple[str, int]] = set()
    for submission in submissions:
        if (submission.pool, submission.slots) not in checked:
            with naming_line(submission):
                check_capacity(store, submission.pool, submission.slots)
            checked.add((submission.pool, submission.slots))


def nothing_stored(failure: CommitUnknown) -> InturnError:
    """The error for a submission whose commit failed, and of which nothing is to be seen in the store."""
    hint = "Nothing was submitted."
    if not failure.final:
        hint = "It may still come back with the disk: see inturn list before you submit it again."
    return InturnError("failed", str(failure), hint)


def check_capacity(store: Store, pool: str, slots: int) -> None:
    """Refuse what could never run: an unknown pool, or more slots than there are.

    Raises InturnError `unknown_pool` or `impossible`.
    """
    # What is given in devices is given in distinct ones, however many may share each of them.
    limits = {
        name: len(devices.split(",")) if devices else limit
        for name, limit, devices in store.execute("SELECT name, slots, devices FROM pools")
    }
    if pool and pool not in limits:
        known = ", ".join(sorted(filter(None, limits))) or "none"
        raise InturnError(
            "unknown_pool",
            f"there is no pool {pool!r}",
            f"Pools: {known}. Declare it in the configuration file, or: inturn pools set {pool} N",
        )
    for scope in (STORE, pool):
        limit = limits.get(scope)
        if limit is not None and slots > limit:
            where = f"pool {scope!r} has" if scope else "the store allows"
            raise InturnError(
                "impossible",
                f"{slots} slots can never be given: {where} {limit}",
                f"Ask for at most {limit} with --slots, or raise the limit.",
            )

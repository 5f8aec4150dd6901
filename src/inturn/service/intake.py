"""Checking submissions against the store and storing them, all inside one write transaction."""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.errors import InturnError
from inturn.service import dependencies
from inturn.service.dependencies import naming_line
from inturn.store import admissions, jobs, newcomers, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.core.spec import Submission
    from inturn.service.context import Context
    from inturn.service.dependencies import Gates
    from inturn.store.db import Store
    from inturn.store.newcomers import Draft, Shape
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


class Survey(NamedTuple):
    """What there is to check and to do of a batch: mostly for very few of its jobs.

    `examples` are the positions of the first job of each shape, in their order: whatever is true of all of a
    shape need be looked at there only. `keyed` are the positions of those with a key, `waiting` of those with
    dependencies or wait conditions, `timed` of those with a deadline that somebody has to mind.
    """

    examples: Sequence[int]
    keyed: Sequence[int]
    waiting: Sequence[int]
    timed: Sequence[int]


class Ahead(NamedTuple):
    """What was done of a batch before it was laid out: see `store.bulk`. `gates` are laid out as well."""

    survey: Survey
    gates: Gates | None


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
    return newcomers.draft_all(submissions, owned, now)


def survey(drafts: Sequence[Draft]) -> Survey:
    """Look through a batch, before the write lock is taken if that may take long."""
    examples: dict[int, int] = {}
    keyed, waiting, timed = [], [], []
    for at, (submission, shape) in enumerate(drafts):
        examples.setdefault(id(shape), at)
        if submission.key is not None:
            keyed.append(at)
        if submission.edges or submission.conditions:
            waiting.append(at)
        if submission.spec.job_timeout is not None or submission.spec.wait_abort_at is not None:
            timed.append(at)
    return Survey(list(examples.values()), keyed, waiting, timed)


def look_ahead(drafts: Sequence[Draft], now: Now) -> Ahead:
    """Do what can be done for a large batch before it is laid out."""
    seen = survey(drafts)
    return Ahead(seen, dependencies.gates_ahead([draft.submission for draft in drafts], seen.waiting, now))


def store_all(
    context: Context,
    drafts: Sequence[Draft],
    owners: Sequence[int | None],
    now: Now,
    ahead: Ahead | None = None,
) -> Stored:
    """Validate and store jobs, inside the present write transaction.

    `owners` are the supervisors' rows, None for queued jobs. Dependencies may name other submissions of the
    same batch by `@ref`, later ones too. Queued jobs whose gates are open already are settled at once.
    `ahead` is what `look_ahead` gave if they are laid out, which is for queued jobs alone.

    Raises InturnError: not_found and ambiguous for a dependency, contradiction, invalid_value for too many
    of them, unknown_pool, impossible, conflict for a key under which something else runs. The transaction is
    then undone.
    """
    store = context.store
    assert store is not None
    seen = survey(drafts) if ahead is None else ahead.survey
    under_way, repeated = _twins(store, drafts, seen.keyed)
    twins = {*under_way, *repeated}
    fresh: Sequence[int] = range(len(drafts))
    rest = drafts
    if twins:
        fresh = [at for at in fresh if at not in twins]
        rest = [drafts[at] for at in fresh]
        seen = survey(rest)
    _check_capacities(store, [rest[at].submission for at in seen.examples])
    resolved = dependencies.resolve(context, [rest[at].submission for at in seen.waiting])
    known = _environments(store, [rest[at].shape for at in seen.examples])
    if ahead is None:
        environments = [known[draft.shape.environment] for draft in rest]
        ids = newcomers.insert_all(store, rest, [owners[at] for at in fresh], environments, now)
    else:
        environments = [known[rest[at].shape.environment] for at in seen.examples]
        ids = _insert_laid_out(store, rest, bool(twins), environments, now)
    answer = ids
    if twins:
        stored = under_way | dict(zip(fresh, ids, strict=True))
        answer = [stored[repeated.get(at, at)] for at in range(len(drafts))]
    if seen.waiting and (ahead is None or ahead.gates is None or twins):
        batch = ((draft.submission, job_id) for draft, job_id in zip(drafts, answer, strict=True))
        waiting = ((rest[at].submission, ids[at]) for at in seen.waiting)
        newcomers.insert_gates(store, *dependencies.gates_of(waiting, batch, resolved, now))
    _settle(
        store,
        [ids[at] for at in seen.waiting if rest[at].submission.edges and owners[fresh[at]] is None],
        [ids[at] for at in seen.timed if owners[fresh[at]] is None],
        now,
    )
    admissions.wake_admissible(store, now)
    return Stored(answer, twins)


def _insert_laid_out(
    store: Store, drafts: Sequence[Draft], anew: bool, environments: Sequence[int], now: Now
) -> list[int]:
    from inturn.store import bulk  # few submissions are so large

    if anew:
        bulk.lay_out_again(store, drafts)
    first = bulk.insert_all(store, environments, now)
    return list(range(first, first + len(drafts)))


def _settle(store: Store, gated: Sequence[int], timed: Sequence[int], now: Now) -> None:
    """Do for queued jobs that have just been stored what has to be done for jobs that nobody owns."""
    if gated:
        from inturn.store import settle

        jobs.commit(store, settle.newcomers(store, gated[0], gated[-1], now), now)
    if timed:
        newcomers.note_deadlines(store, timed[0], timed[-1], now)


def _environments(store: Store, shapes: Sequence[Shape]) -> dict[tuple[bytes, ...], int]:
    """The ids of their environments; most submissions of a batch share one."""
    known: dict[tuple[bytes, ...], int] = {}
    for shape in shapes:
        if shape.environment not in known:
            known[shape.environment] = specs.environment_id(store, shape.environment)
    return known


def _twins(
    store: Store, drafts: Sequence[Draft], keyed: Sequence[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """By position: the job under way with the same key, and the position before with the same key.

    Raises InturnError `conflict` if another command runs under a key.
    """
    under_way: dict[int, int] = {}
    repeated: dict[int, int] = {}
    first: dict[str, int] = {}
    submissions = [(at, drafts[at].submission) for at in keyed]
    holders = newcomers.holders(store, [one.key for _, one in submissions if one.key is not None])
    for at, submission in submissions:
        key = submission.key
        assert key is not None
        if key in holders:
            under_way[at], argv = holders[key]
            _check_same(submission, argv, f"job {under_way[at]}")
        elif first.setdefault(key, at) != at:
            repeated[at] = first[key]
            earlier = drafts[first[key]].submission
            _check_same(submission, b"\0".join(earlier.spec.argv), f"the job of {earlier.origin}")
    return under_way, repeated


def _check_same(submission: Submission, argv: bytes, whose: str) -> None:
    if argv != b"\0".join(submission.spec.argv):
        with naming_line(submission):
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

"""Storing new jobs, one or a hundred thousand: few statements, and what can be worked out before is."""

from __future__ import annotations

from inturn.core import transitions
from inturn.store import specs
from inturn.store.rows import EVENT_COLUMNS, JOB_COLUMNS, job_values, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NamedTuple

    from inturn.core.moment import Now
    from inturn.core.spec import Submission
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# More rows in one statement save nothing; a statement may have 32,766 values.
ROWS_AT_ONCE = 50

_PHASE, _OWNER, _ARRAY, _THROTTLE = map(JOB_COLUMNS.index, ("phase", "owner", "array_id", "throttle"))


class Draft(NamedTuple):
    """A job ready to be stored, but for what only the transaction knows: its id, owner, environment, array.

    `job` holds the values of its row, `spec` those of its specification.
    """

    submission: Submission
    job: tuple[Any, ...]
    spec: tuple[Any, ...]


def draft(submission: Submission, gated: bool, owned: bool, now: Now) -> Draft:
    """Work out the rows of a job; `gated`: it waits for something, `owned`: it is stored with an owner."""
    job = transitions.submit(submission, gated, 0 if owned else None, now)
    return Draft(submission, job_values(job), specs.values(submission.spec))


def insert_all(
    store: Store, drafts: Sequence[Draft], owners: Sequence[int | None], environments: Sequence[int], now: Now
) -> list[int]:
    """Store new jobs, without their gates, and say in the ledger that they were submitted.

    Returns their ids, which follow each other, in the order of the drafts. An array has the id of its first
    job. Inside the present write transaction.
    """
    first = _next_id(store)
    jobs: list[Sequence[Any]] = []
    spec_rows: list[Sequence[Any]] = []
    events: list[Sequence[Any]] = []
    arrays: list[Sequence[Any]] = []
    left = 0  # how many jobs of the present array are still to come
    array = throttle = 0
    for job_id, (submission, job, spec), owner, environment in zip(
        range(first, first + len(drafts)), drafts, owners, environments, strict=True
    ):
        row = [job_id, *job[1:]]
        row[_OWNER] = owner
        if submission.array_size:
            if not left:
                left, array = submission.array_size, job_id
                throttle = array if submission.at_once is not None else 0
                arrays.append((array, left, submission.at_once))
            left -= 1
            row[_ARRAY], row[_THROTTLE] = array, throttle
        jobs.append(row)
        spec_rows.append((job_id, environment, *spec))
        events.append((job_id, now.wall, "submitted", None, row[_PHASE], None, None))
    insert_rows(store, "jobs", JOB_COLUMNS, jobs)
    insert_rows(store, "specs", specs.COLUMNS, spec_rows)
    insert_rows(store, "events", EVENT_COLUMNS, events)
    insert_rows(store, "arrays", ("id", "size", "at_once"), arrays)
    ids = list(range(first, first + len(drafts)))
    _name(store, ids, drafts)
    return ids


def _next_id(store: Store) -> int:
    """Ids are never used again, not even those of jobs that were pruned."""
    row = store.row("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'")
    return 1 if row is None else int(row[0]) + 1


def _name(store: Store, ids: Sequence[int], drafts: Sequence[Draft]) -> None:
    """Store what some have by which they may be found."""
    tags: list[Sequence[Any]] = []
    keys: list[Sequence[Any]] = []
    for job_id, (submission, _, _) in zip(ids, drafts, strict=True):
        tags += [(job_id, tag, value) for tag, value in submission.tags]
        if submission.key is not None:
            keys.append((submission.key, job_id))
    insert_rows(store, "tags", ("job_id", "tag", "value"), tags)
    insert_rows(store, "keys", ("key", "job_id"), keys)


def insert_rows(store: Store, table: str, columns: tuple[str, ...], rows: Sequence[Iterable[Any]]) -> None:
    """Insert rows, many with one statement; each holds the values of `columns`."""
    one = f"({marks(columns)})"
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        store.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([one] * len(some))}",
            tuple(value for row in some for value in row),
        )

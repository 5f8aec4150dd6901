"""Storing new jobs, one or a hundred thousand: few statements, and what can be worked out before is."""

from __future__ import annotations

from _operator import itemgetter

from inturn.core import transitions
from inturn.core.spec import Spec, Submission
from inturn.store import specs
from inturn.store.rows import EVENT_COLUMNS, JOB_COLUMNS, job_values, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NamedTuple

    from inturn.core.job import Condition
    from inturn.core.moment import Now
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# More rows in one statement save nothing; a statement may have 32,766 values.
ROWS_AT_ONCE = 50
KEYS_AT_ONCE = 500

# In what jobs of one shape differ; no CHECK of the schema is about any of it.
OWN_COLUMNS = ("id", "owner", "name", "array_id", "array_index", "throttle")
SHARED_COLUMNS = tuple(column for column in JOB_COLUMNS if column not in OWN_COLUMNS)

_SHARED = itemgetter(*map(JOB_COLUMNS.index, SHARED_COLUMNS))
_PHASE = SHARED_COLUMNS.index("phase")

# What decides on the shape of a job, besides its environment and whether it waits for something.
_PLACE = itemgetter(
    *map(Submission._fields.index, ("queue", "pool", "slots", "priority", "delay", "at")),
)
_TERMS = itemgetter(
    *(at for at, name in enumerate(Spec._fields) if name not in {*specs.OWN_COLUMNS, "environment"}),
)

EDGE_COLUMNS = ("job_id", "parent_id", "outcomes")
CONDITION_COLUMNS = ("job_id", "position", "kind", "argument", "due_wall", "due_boot", "due_at")

_NEW_DEADLINES = """
    INSERT INTO deadlines (job_id, wall, boot, at)
    SELECT job_id, {} FROM specs JOIN jobs ON id = job_id
    WHERE job_id BETWEEN ? AND ? AND owner IS NULL AND phase <> 'completed' AND {} IS NOT NULL
"""
_OF_TIMEOUTS = _NEW_DEADLINES.format("? + job_timeout, ?, ? + job_timeout", "job_timeout")
_OF_ABORTS = _NEW_DEADLINES.format("wait_abort_at, '', wait_abort_at", "wait_abort_at")


class Shape(NamedTuple):
    """What many jobs have in common: the values of SHARED_COLUMNS here and in `specs`, the environment."""

    job: tuple[Any, ...]
    spec: tuple[Any, ...]
    environment: tuple[bytes, ...]


class Draft(NamedTuple):
    """A job ready to be stored, but for what only the transaction knows: its id and that of its environment.

    The columns of its own follow from the submission.
    """

    submission: Submission
    shape: Shape


def draft(submission: Submission, gated: bool, owned: bool, now: Now) -> Draft:
    """Work out the rows of a job; `gated`: it waits for something, `owned`: it is stored with an owner."""
    job = transitions.submit(submission, gated, 0 if owned else None, now)
    spec = submission.spec
    return Draft(submission, Shape(_SHARED(job_values(job)), specs.shared_values(spec), spec.environment))


def draft_all(submissions: Iterable[Submission], owned: bool, now: Now) -> list[Draft]:
    """The drafts of many jobs; `owned`: the supervised ones are stored with their owners.

    Those that are alike share their shape, which is what makes very many cheap.
    """
    shapes: dict[tuple[Any, ...], Shape] = {}
    drafts: list[Draft] = []
    for submission in submissions:
        spec, edges, conditions = submission.spec, submission.edges, submission.conditions
        # By identity: one environment is shared by all that come from one process.
        alike = (_PLACE(submission), not edges, not conditions, id(spec.environment), _TERMS(spec))
        shape = shapes.get(alike)
        if shape is None:
            made = draft(submission, bool(edges or conditions), owned and not submission.queue, now)
            shape = shapes[alike] = made.shape
        drafts.append(Draft(submission, shape))
    return drafts


def insert_all(
    store: Store, drafts: Sequence[Draft], owners: Sequence[int | None], environments: Sequence[int], now: Now
) -> list[int]:
    """Store new jobs, without their gates, and say in the ledger that they were submitted.

    Returns their ids, which follow each other, in the order of the drafts. An array has the id of its first
    job. Inside the present write transaction.
    """
    first = next_id(store)
    ids = list(range(first, first + len(drafts)))
    places, arrays = in_arrays(drafts, first)
    jobs: list[Sequence[Any]] = []
    spec_rows: list[Sequence[Any]] = []
    events: list[Sequence[Any]] = []
    for job_id, (submission, shape), owner, environment, (array, throttle) in zip(
        ids, drafts, owners, environments, places, strict=True
    ):
        own = (job_id, owner, submission.name, array, submission.array_index, throttle or 0)
        jobs.append(own + shape.job)
        spec_rows.append((job_id, environment, *specs.own_values(submission.spec), *shape.spec))
        events.append((job_id, now.wall, "submitted", None, shape.job[_PHASE], None, None))
    insert_rows(store, "jobs", OWN_COLUMNS + SHARED_COLUMNS, jobs)
    insert_rows(store, "specs", specs.COLUMNS, spec_rows)
    insert_rows(store, "events", EVENT_COLUMNS, events)
    insert_rows(store, "arrays", ("id", "size", "at_once"), arrays)
    tags, keys = names(drafts, first)
    insert_rows(store, "tags", ("job_id", "tag", "value"), tags)
    insert_rows(store, "keys", ("key", "job_id"), keys)
    return ids


def holders(store: Store, keys: Sequence[str]) -> dict[str, tuple[int, bytes]]:
    """Of these keys those that jobs under way have, with the job and its arguments, joined by NUL."""
    found: dict[str, tuple[int, bytes]] = {}
    for start in range(0, len(keys), KEYS_AT_ONCE):
        some = keys[start : start + KEYS_AT_ONCE]
        rows = store.execute(
            f"SELECT key, job_id, argv FROM keys JOIN specs USING (job_id) WHERE key IN ({marks(some)})",
            tuple(some),
        )
        found.update((key, (job_id, argv)) for key, job_id, argv in rows)
    return found


def in_arrays(
    drafts: Iterable[Draft], first: int
) -> tuple[list[tuple[int | None, int | None]], list[tuple[int, int, int | None]]]:
    """Of each draft its array, and again if only some of that run at once; then the rows of the arrays.

    `first` is the id of the first draft; the others follow.
    """
    places: list[tuple[int | None, int | None]] = []
    arrays: list[tuple[int, int, int | None]] = []
    place: tuple[int | None, int | None] = (None, None)
    left = 0  # how many jobs of the present array are still to come
    for job_id, (submission, _) in enumerate(drafts, first):
        if not submission.array_size:
            places.append((None, None))
            continue
        if not left:
            left = submission.array_size
            place = (job_id, None if submission.at_once is None else job_id)
            arrays.append((job_id, left, submission.at_once))
        left -= 1
        places.append(place)
    return places, arrays


def names(drafts: Iterable[Draft], first: int) -> tuple[list[Sequence[Any]], list[Sequence[Any]]]:
    """The rows of tags and of keys: what some have by which they may be found; `first` as in `in_arrays`."""
    tags: list[Sequence[Any]] = []
    keys: list[Sequence[Any]] = []
    for job_id, (submission, _) in enumerate(drafts, first):
        if submission.tags:
            tags += [(job_id, tag, value) for tag, value in submission.tags]
        if submission.key is not None:
            keys.append((submission.key, job_id))
    return tags, keys


def next_id(store: Store) -> int:
    """The id of the next job. Ids are never used again, not even those of jobs that were pruned."""
    row = store.row("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'")
    return 1 if row is None else int(row[0]) + 1


def insert_gates(
    store: Store, edges: Iterable[tuple[int, int, tuple[str, ...]]], conditions: Iterable[Condition]
) -> None:
    """Store the gates of new jobs; each edge is a job, the one that it waits for, and the outcomes wanted."""
    edge_rows, condition_rows = gate_rows(edges, conditions)
    insert_rows(store, "edges", EDGE_COLUMNS, edge_rows)
    insert_rows(store, "conditions", CONDITION_COLUMNS, condition_rows)


def gate_rows(
    edges: Iterable[tuple[int, int, tuple[str, ...]]], conditions: Iterable[Condition]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The values of EDGE_COLUMNS and of CONDITION_COLUMNS."""
    return (
        [(job_id, parent, ",".join(outcomes)) for job_id, parent, outcomes in edges],
        [(one.job_id, one.position, one.kind, one.argument, *one.due) for one in conditions],
    )


def note_deadlines(store: Store, first: int, last: int, now: Now) -> None:
    """Store the deadlines of new jobs, from `first` to `last`, that nobody owns and that have not ended."""
    store.execute("DELETE FROM deadlines WHERE job_id BETWEEN ? AND ?", (first, last))
    store.execute(_OF_TIMEOUTS, (now.wall, now.boot, now.mono, first, last))
    store.execute(_OF_ABORTS, (first, last))


def insert_rows(store: Store, table: str, columns: tuple[str, ...], rows: Sequence[Iterable[Any]]) -> None:
    """Insert rows, many with one statement; each holds the values of `columns`."""
    one = f"({marks(columns)})"
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        store.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([one] * len(some))}",
            tuple(value for row in some for value in row),
        )

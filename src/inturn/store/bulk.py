"""Storing very many queued jobs: laid out in memory first, and copied while the write lock is held.

Others who want to write wait for the copying alone, which SQLite does by itself; what is stored is what
`newcomers` would store. Laid out are temporary tables of this connection: to fill them takes no lock.
"""

from __future__ import annotations

import apsw

from inturn.store import specs
from inturn.store.newcomers import (
    CONDITION_COLUMNS,
    EDGE_COLUMNS,
    OWN_COLUMNS,
    SHARED_COLUMNS,
    gate_rows,
    in_arrays,
    names,
    next_id,
)
from inturn.store.rows import EVENT_COLUMNS, marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Any

    from inturn.core.job import Condition
    from inturn.core.moment import Now
    from inturn.store.db import Store
    from inturn.store.newcomers import Draft, Shape

    Waits = tuple[Iterable[tuple[int, int, tuple[str, ...]]], Iterable[Condition]]

# `n` counts the jobs from 0. `example` is the first job of a shape, `members` says how many there are.
_ROW = ("n", "shape", "name", "array_n", "array_index", "throttle_n", *specs.OWN_COLUMNS)
_SHAPE = ("number", "example", "members", *SHARED_COLUMNS, *specs.SHARED_COLUMNS)
_TABLES = {
    "fresh": (f"{_ROW[0]} INTEGER PRIMARY KEY", *_ROW[1:]),
    "fresh_shapes": (f"{_SHAPE[0]} INTEGER PRIMARY KEY", *_SHAPE[1:], "environment"),
    "fresh_arrays": ("n", "size", "at_once"),
    "fresh_tags": ("n", "tag", "value"),
    "fresh_keys": ("key", "n"),
    "fresh_edges": ("n", "parent_n", "outcomes"),
    "fresh_conditions": ("n", *CONDITION_COLUMNS[1:]),
}

_ALL = "temp.fresh CROSS JOIN temp.fresh_shapes ON number = shape ORDER BY n"
_EXAMPLES = "temp.fresh_shapes CROSS JOIN temp.fresh ON n = example ORDER BY number"
_OTHERS = "temp.fresh CROSS JOIN temp.fresh_shapes ON number = shape WHERE n <> example ORDER BY n"


def _copy(table: str, columns: Sequence[str], values: Sequence[str], source: str) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {source}"


# ?1 is the id of the first job, ?2 the wall time.
_JOB = (
    *("?1 + n", "NULL", "name"),
    *("?1 + array_n", "array_index", "ifnull(?1 + throttle_n, 0)"),
    *SHARED_COLUMNS,
)
_SPEC = ("?1 + n", "environment", *specs.COLUMNS[2:])
_EVENT = ("?1 + n", "?2", "'submitted'", "NULL", "phase", "NULL", "NULL")
CHECKED = (
    _copy("jobs", OWN_COLUMNS + SHARED_COLUMNS, _JOB, _EXAMPLES),
    _copy("specs", specs.COLUMNS, _SPEC, _EXAMPLES),
)
LIKE_THEM = (
    _copy("jobs", OWN_COLUMNS + SHARED_COLUMNS, _JOB, _OTHERS),
    _copy("specs", specs.COLUMNS, _SPEC, _OTHERS),
)
BESIDES = (
    _copy("events", EVENT_COLUMNS, _EVENT, _ALL),
    _copy("arrays", ("id", "size", "at_once"), ("?1 + n", "size", "at_once"), "temp.fresh_arrays"),
    _copy("tags", ("job_id", "tag", "value"), ("?1 + n", "tag", "value"), "temp.fresh_tags"),
    _copy("keys", ("key", "job_id"), ("key", "?1 + n"), "temp.fresh_keys"),
    _copy("edges", EDGE_COLUMNS, ("?1 + n", "?1 + parent_n", "outcomes"), "temp.fresh_edges"),
    _copy(
        "conditions",
        CONDITION_COLUMNS,
        ("?1 + n", *CONDITION_COLUMNS[1:]),
        "temp.fresh_conditions",
    ),
)
# What the trigger on `jobs` would do for each row.
_TALLY = """
    INSERT INTO tallies (queue, pool, status, jobs)
    SELECT jobs.queue, jobs.pool, jobs.status, sum(members)
    FROM temp.fresh_shapes CROSS JOIN jobs ON jobs.id = ?1 + example
    WHERE true GROUP BY 1, 2, 3
    ON CONFLICT DO UPDATE SET jobs = tallies.jobs + excluded.jobs
"""


class laid_out:  # noqa: N801 - used like a function
    """A context in which `insert_all` finds these drafts; a write transaction begins and ends within it.

    `waits` are edges and wait conditions to be stored with them, with positions in the place of ids.
    """

    def __init__(self, store: Store, drafts: Sequence[Draft], waits: Waits | None = None) -> None:
        self._store = store
        self._drafts = drafts
        self._waits = waits or ((), ())

    def __enter__(self) -> None:
        # It is left so: to change it again would have SQLite read the whole schema anew.
        self._store.execute("PRAGMA temp_store = MEMORY")
        with self._store.reading():
            for table, columns in _TABLES.items():
                self._store.execute(f"CREATE TEMP TABLE {table} ({', '.join(columns)})")
            _fill(self._store, self._drafts, *gate_rows(*self._waits))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for table in _TABLES:
            self._store.execute(f"DROP TABLE temp.{table}")


def lay_out_again(store: Store, drafts: Sequence[Draft]) -> None:
    """Replace what is laid out, because not all of it is to be stored; without what jobs wait for."""
    for table in _TABLES:
        store.execute(f"DELETE FROM temp.{table}")
    _fill(store, drafts, (), ())


def insert_all(store: Store, environments: Sequence[int], now: Now) -> int:
    """Store what is laid out, as `newcomers.insert_all` would; returns the id of the first job.

    `environments` has an id for each shape, in the order in which the drafts show them.
    """
    first = next_id(store)
    store.connection.executemany(
        "UPDATE temp.fresh_shapes SET environment = ? WHERE number = ?",
        ((environment, number) for number, environment in enumerate(environments)),
    )
    # The trigger would count each row by itself, and the CHECKs, which are dear, would look at what all jobs
    # of a shape have in common: for one of each shape they do.
    try:
        store.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        _run(store, CHECKED, first, now)
        _copy_unchecked(store, first, now)
    finally:
        store.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
    _run(store, (_TALLY, *BESIDES), first, now)
    return first


def _copy_unchecked(store: Store, first: int, now: Now) -> None:
    try:
        store.execute("PRAGMA ignore_check_constraints = ON")
        _run(store, LIKE_THEM, first, now)
    finally:
        store.execute("PRAGMA ignore_check_constraints = OFF")


def _run(store: Store, statements: Sequence[str], first: int, now: Now) -> None:
    for statement in statements:
        store.execute(statement, (first, now.wall) if "?2" in statement else (first,))


def _fill(
    store: Store,
    drafts: Sequence[Draft],
    edges: Sequence[tuple[Any, ...]],
    conditions: Sequence[tuple[Any, ...]],
) -> None:
    places, arrays = in_arrays(drafts, 0)
    tags, keys = names(drafts, 0)
    shapes: dict[int, list[Any]] = {}
    rows = _rows(drafts, places, shapes)
    for table, columns, values in (
        ("fresh", _ROW, rows),
        ("fresh_shapes", _SHAPE, shapes.values()),
        ("fresh_arrays", _TABLES["fresh_arrays"], arrays),
        ("fresh_tags", _TABLES["fresh_tags"], tags),
        ("fresh_keys", _TABLES["fresh_keys"], keys),
        ("fresh_edges", _TABLES["fresh_edges"], edges),
        ("fresh_conditions", _TABLES["fresh_conditions"], conditions),
    ):
        store.connection.executemany(
            f"INSERT INTO temp.{table} ({', '.join(columns)}) VALUES ({marks(columns)})", values
        )


def _rows(
    drafts: Sequence[Draft],
    places: Sequence[tuple[int | None, int | None]],
    shapes: dict[int, list[Any]],
) -> Iterator[tuple[Any, ...]]:
    """The rows of `fresh`; notes those of `fresh_shapes` in `shapes` as they come."""
    for n, ((submission, shape), (array, throttle)) in enumerate(zip(drafts, places, strict=True)):
        known = shapes.get(id(shape))
        if known is None:
            known = shapes[id(shape)] = _new_shape(len(shapes), n, shape)
        known[2] += 1
        yield (
            *(n, known[0], submission.name, array, submission.array_index, throttle),
            *specs.own_values(submission.spec),
        )


def _new_shape(number: int, example: int, shape: Shape) -> list[Any]:
    return [number, example, 0, *shape.job, *shape.spec]

"""Stores with very many jobs, made once for all rounds.

What is due or delayed is submitted. What is finished is the first job, copied with its rows again and again.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.place import Arena, Place
from bench.sizes import Sizes
from bench.tools.inturn import inturn

# Rows copied in one transaction.
AT_ONCE = 50_000

# The tables of a finished job, with the column that has its id. The ledger numbers its rows itself.
TABLES = (("jobs", "id"), ("specs", "job_id"), ("runs", "job_id"), ("events", "job_id"))


def big(arena: Arena, sizes: Sizes) -> Place:
    """Finished jobs, delayed ones of a higher priority, and due ones, in this order."""
    return arena.shared("big", _filled(sizes.finished, sizes.behind, sizes.behind))


def small(arena: Arena, sizes: Sizes) -> Place:
    """So few finished jobs, and as many due ones."""
    return arena.shared("small", _filled(sizes.few, 0, sizes.few))


def only_due(arena: Arena, sizes: Sizes) -> Place:
    """Nothing but jobs enough for one round of claims, and one that has ended."""
    return arena.shared("only due", _filled(1, 0, sizes.claims + 1))


def newest(place: Place) -> str:
    """The id of the newest job."""
    return inturn(place, "list", "--limit", "1").split("\t")[0]


def _filled(finished: int, delayed: int, due: int) -> Callable[[Place], None]:
    def fill(place: Place) -> None:
        inturn(place, "run", "--wait", "--", "true")
        place.calm()
        copy_first_job(f"{place.store}/inturn.db", finished - 1)
        if delayed:
            options = ("--priority", "5", "--after", "7d")
            inturn(place, "add", "--array", f"1-{delayed}", *options, "--", "true")
        inturn(place, "add", "--array", f"1-{due}", "--", "true")

    return fill


def copy_first_job(database: str, count: int) -> None:
    """Copy the only job of a store so often, its ids following."""
    import apsw

    connection = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        for start in range(0, count, AT_ONCE):
            with connection:
                for table, key in TABLES:
                    connection.execute(
                        _copying(connection, table, key), (start + 1, min(start + AT_ONCE, count))
                    )
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.close()


def _copying(connection: object, table: str, key: str) -> str:
    import apsw

    assert isinstance(connection, apsw.Connection)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    kept = [name for name in names if table == "jobs" or name != "id"]
    values = ["1 + number.value" if name == key else name for name in kept]
    return f"""
        WITH RECURSIVE number (value) AS (
            SELECT ?1 UNION ALL SELECT value + 1 FROM number WHERE value < ?2)
        INSERT INTO {table} ({", ".join(kept)})
        SELECT {", ".join(values)} FROM number, {table} WHERE {table}.{key} = 1 ORDER BY number.value
    """

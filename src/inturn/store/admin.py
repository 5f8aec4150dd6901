"""Whether what the store says of itself agrees with itself; and the repairs that follow from its own rows."""

from __future__ import annotations

import apsw

from inturn.core.job import ACTIVE
from inturn.errors import InturnError
from inturn.store.backup import back_up
from inturn.store.transaction import translate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import NamedTuple

    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# So many faults of one kind are told.
AT_MOST = 20

_HOLDS = ", ".join(f"'{phase}'" for phase in ACTIVE)
_HOLDING = f"(phase IN ({_HOLDS}) OR phase = 'paused' AND held_phase IN ({_HOLDS}))"

_COUNTED = "SELECT queue, pool, status, count(*) AS jobs FROM jobs GROUP BY queue, pool, status"

# Jobs that wait for something which has ended, and which nobody is going to tell them.
_FORGOTTEN = """
    SELECT DISTINCT parent_id FROM edges
    JOIN jobs ON jobs.id = edges.job_id AND jobs.phase = 'waiting' AND jobs.owner IS NULL
    JOIN jobs AS parent ON parent.id = parent_id AND parent.phase = 'completed'
    WHERE observed_at IS NULL AND parent_id NOT IN (SELECT parent_id FROM unsettled)
"""


class MarkedRun(NamedTuple):
    """The run that a cookie belongs to. `over`: its result is known and its slots are given back.

    With `leave_children` what it has left is meant to go on. `stop_grace` is in microseconds.
    """

    job_id: int
    number: int
    over: bool
    leave_children: bool
    stop_grace: int


def sqlite_version() -> str:
    """The SQLite that is used."""
    return apsw.sqlite_lib_version()


def integrity(store: Store) -> list[str]:
    """What SQLite finds wrong with the file, and references that lead nowhere. Reads all of it."""
    faults: list[str] = []
    try:
        rows = store.execute(f"PRAGMA integrity_check({AT_MOST})")
        faults += [str(line) for (line,) in rows if line != "ok"]
        dangling = zip(range(AT_MOST), store.execute("PRAGMA foreign_key_check"), strict=False)
        for _, (table, row, parent, _) in dangling:
            faults.append(f"row {row} of {table} refers to a row of {parent} that is not there")
    except (apsw.Error, InturnError) as error:
        faults.append(str(error))
    return faults


def wrong_migrations(store: Store) -> list[str]:
    """Migrations of this program that the store has not had, or not with these words."""
    from binascii import crc32

    from inturn.store.migrate import MIGRATIONS
    from inturn.store.upgrade import script

    had = dict(store.execute("SELECT number, checksum FROM migrations"))
    faults = []
    for number, name in enumerate(MIGRATIONS, start=1):
        if number not in had:
            faults.append(f"migration {number} of the schema was never recorded")
        elif had[number] != crc32(script(name)):
            faults.append(f"migration {number} of the schema was another one than that of this inturn")
    return faults


def wrong_counts(store: Store) -> list[str]:
    """Counters that are not what counting gives."""
    rows = store.execute(
        f"""
        SELECT queue, pool, status, coalesce(tallies.jobs, 0), coalesce(counted.jobs, 0)
        FROM tallies FULL JOIN ({_COUNTED}) AS counted USING (queue, pool, status)
        WHERE coalesce(tallies.jobs, 0) <> coalesce(counted.jobs, 0) LIMIT {AT_MOST}
        """
    )
    return [
        f"{jobs} jobs are counted as {status} in queue '{queue}' and pool '{pool}', and there are {counted}"
        for queue, pool, status, jobs, counted in rows
    ]


def rebuild_counts(store: Store) -> None:
    """Count anew, in the present write transaction."""
    store.execute("DELETE FROM tallies")
    store.execute(f"INSERT INTO tallies (queue, pool, status, jobs) {_COUNTED}")


def wrong_admissions(store: Store) -> list[str]:
    """Jobs that hold slots without a record of it, records without such a job, and those that disagree."""
    faults = [
        f"job {job_id} is {phase} and holds no slots"
        for job_id, phase in store.execute(
            f"SELECT id, phase FROM jobs WHERE phase <> 'completed' AND {_HOLDING}"
            f" AND id NOT IN (SELECT job_id FROM admissions) LIMIT {AT_MOST}"
        )
    ]
    agrees = """
        admissions.owner IS jobs.owner AND run = runs AND admissions.pool = jobs.pool
        AND admissions.queue = jobs.queue AND admissions.slots = jobs.slots
    """
    for job_id, phase, holding in store.execute(
        f"""
        SELECT jobs.id, phase, {_HOLDING} FROM admissions JOIN jobs ON jobs.id = job_id
        WHERE NOT {_HOLDING} OR NOT ({agrees}) LIMIT {AT_MOST}
        """
    ):
        wrong = "holds other slots than it asks for" if holding else "holds slots"
        faults.append(f"job {job_id} is {phase} and {wrong}")
    return faults


def release_ended(store: Store) -> int:
    """Give back what completed jobs hold, in the present write transaction; returns how many did."""
    store.execute(
        "DELETE FROM admissions WHERE job_id IN"
        " (SELECT job_id FROM admissions JOIN jobs ON jobs.id = job_id AND phase = 'completed')"
    )
    return store.connection.changes()


def wrong_receipts(store: Store) -> list[str]:
    """Jobs that have gone on although a dependency was not judged, or not met."""
    rows = store.execute(
        f"""
        SELECT edges.job_id, parent_id, observed_outcome FROM edges JOIN jobs ON jobs.id = edges.job_id
        WHERE (phase = 'queued' OR {_HOLDING} OR phase = 'paused' AND held_phase = 'queued')
            AND (observed_at IS NULL OR instr(',' || outcomes || ',', ',' || observed_outcome || ',') = 0)
        LIMIT {AT_MOST}
        """
    )
    return [
        f"job {job_id} has gone on although job {parent} "
        + ("has not been judged" if outcome is None else f"ended as {outcome}")
        for job_id, parent, outcome in rows
    ]


def forgotten(store: Store) -> list[int]:
    """Completed jobs whose dependents will not be told so."""
    return [parent for (parent,) in store.execute(f"{_FORGOTTEN} LIMIT {AT_MOST}")]


def remember(store: Store) -> None:
    """Have the dependents of those told, in the present write transaction."""
    store.execute(f"INSERT OR IGNORE INTO unsettled (parent_id) {_FORGOTTEN}")


def without_owner(store: Store) -> list[int]:
    """Live jobs that must have an owner and have none."""
    rows = store.execute(
        f"""
        SELECT id FROM jobs WHERE phase <> 'completed' AND owner IS NULL AND (queue = '' OR {_HOLDING})
        ORDER BY id LIMIT {AT_MOST}
        """
    )
    return [job_id for (job_id,) in rows]


def runs_marked(store: Store, tokens: Collection[str]) -> dict[str, MarkedRun]:
    """The runs of this store that these cookies belong to."""
    if not tokens:
        return {}
    import json

    rows = store.execute(
        f"""
        SELECT token, runs.job_id, number,
            runs.outcome IS NOT NULL AND NOT (number = jobs.runs AND {_HOLDING}), leave_children, stop_grace
        FROM runs JOIN jobs ON jobs.id = runs.job_id JOIN specs ON specs.job_id = runs.job_id
        WHERE token IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(tokens)),),
    )
    return {
        token: MarkedRun(job_id, number, bool(over), bool(leave), grace)
        for token, job_id, number, over, leave, grace in rows
    }


def tokens_of_owners(store: Store) -> set[str]:
    """By which the files of the registered owners are called."""
    return {token for (token,) in store.execute("SELECT token FROM owners")}


def existing(store: Store, job_ids: Collection[int]) -> set[int]:
    """Those of these jobs that there are."""
    wanted = f"[{','.join(map(str, job_ids))}]"
    rows = store.execute("SELECT id FROM jobs WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    return {job_id for (job_id,) in rows}


def last_id(store: Store) -> int:
    """The largest id that was ever given."""
    row = store.row("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'")
    return 0 if row is None else int(row[0])


def copy_to(store: Store, path: str) -> None:
    """A consistent copy while others write. Raises OSError, or InturnError as any use of the store."""
    try:
        back_up(store.connection, path)
    except apsw.Error as error:
        raise translate(error, path) from error

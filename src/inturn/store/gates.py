"""What jobs wait for: edges with their receipts, and wait conditions with what was last observed."""

from __future__ import annotations

from inturn.store.rows import SELECT_CONDITION, SELECT_EDGE, condition_from, edge_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from inturn.core.job import Condition, Edge
    from inturn.core.moment import Now
    from inturn.store.db import Store


# Queued jobs of an owner that hold no slots.
_LEFT_BY = (
    "{0}owner = ? AND {0}queue <> '' AND {0}phase IN ('waiting', 'paused')"
    " AND {0}id NOT IN (SELECT job_id FROM admissions)"
)


def edges(store: Store, job_id: int) -> list[Edge]:
    """The dependencies of a job, with what their parents look like now."""
    query = SELECT_EDGE + " WHERE edges.job_id = ? ORDER BY parent_id"
    return [edge_from(row) for row in store.execute(query, (job_id,))]


def dependents(store: Store, job_id: int) -> list[Edge]:
    """The edges that lead to a job: who waits, or waited, for it."""
    query = SELECT_EDGE + " WHERE parent_id = ? ORDER BY edges.job_id"
    return [edge_from(row) for row in store.execute(query, (job_id,))]


def conditions(store: Store, job_id: int) -> list[Condition]:
    """The wait conditions of a job, in the order in which they were given."""
    query = SELECT_CONDITION + " WHERE job_id = ? ORDER BY position"
    return [condition_from(row) for row in store.execute(query, (job_id,))]


def has_open_edge(store: Store, job_id: int) -> bool:
    """Whether a job waits for another one whose outcome it has no receipt of.

    The latest are looked at first: where many are waited for, the earlier ones mostly end first.
    """
    query = "SELECT 1 FROM edges WHERE job_id = ? AND observed_at IS NULL ORDER BY parent_id DESC LIMIT 1"
    return store.row(query, (job_id,)) is not None


def edge(store: Store, job_id: int, parent_id: int) -> Edge:
    """One dependency, which exists."""
    return edge_from(
        store.row(SELECT_EDGE + " WHERE edges.job_id = ? AND parent_id = ?", (job_id, parent_id))
    )


def write_receipts(store: Store, job_id: int, now: Now, parent_id: int | None = None) -> None:
    """Copy outcome and revision of completed parents onto the edges of a job that have no receipt yet.

    The parents are read in this transaction, so that a receipt is what was true of them; an edge that has
    been judged is left alone. With `parent_id` only that one edge is looked at.
    """
    store.execute(
        f"""
        UPDATE edges SET observed_outcome = parent.outcome, observed_revision = parent.revision,
            observed_completed_at = parent.completed_at, observed_at = ?
        FROM jobs AS parent
        WHERE parent.id = edges.parent_id AND parent.phase = 'completed'
            AND edges.job_id = ? AND edges.observed_at IS NULL
            {"" if parent_id is None else "AND edges.parent_id = ?"}
        """,
        (now.wall, job_id) if parent_id is None else (now.wall, job_id, parent_id),
    )


def forget_receipts(store: Store, job_id: int) -> None:
    """Have the dependencies of a job judged anew, because it begins another round."""
    store.execute(
        """
        UPDATE edges SET observed_outcome = NULL, observed_revision = NULL, observed_completed_at = NULL,
            observed_at = NULL
        WHERE job_id = ?
        """,
        (job_id,),
    )


def write_observation(store: Store, condition: Condition) -> None:
    """Store what was last seen of a wait condition."""
    store.execute(
        """
        UPDATE conditions SET satisfied_at = ?, observed_at = ?, diagnostic = ?
        WHERE job_id = ? AND position = ?
        """,
        (
            condition.satisfied_at,
            condition.observed_at,
            condition.diagnostic,
            condition.job_id,
            condition.position,
        ),
    )


def unwatched(store: Store, queues: Collection[str]) -> bool:
    """Whether there is anything for `adopt` to take."""
    marks = ", ".join("?" * len(queues))
    return (
        store.row(
            f"""
            SELECT 1 FROM jobs WHERE phase = 'waiting' AND owner IS NULL AND conditional = 1
                AND queue <> '' AND queue IN ({marks}) LIMIT 1
            """,
            tuple(queues),
        )
        is not None
    )


def adopt(store: Store, owner: int, queues: Collection[str], limit: int) -> list[int]:
    """Make a worker the owner of waiting jobs whose conditions nobody looks at; returns their ids.

    So each condition is looked at by one process at a time.
    """
    marks = ", ".join("?" * len(queues))
    rows = store.execute(
        f"""
        UPDATE jobs SET owner = ?, epoch = epoch + 1 WHERE id IN (
            SELECT id FROM jobs WHERE phase = 'waiting' AND owner IS NULL AND conditional = 1
                AND queue <> '' AND queue IN ({marks})
            ORDER BY id LIMIT ?)
        RETURNING id
        """,
        (owner, *queues, limit),
    )
    return [job_id for (job_id,) in rows]


def disown(store: Store, owner: int) -> None:
    """Give queued jobs back that wait, so that another worker looks at their conditions.

    What their parents have come to in the meantime is settled from now on as of any job that nobody owns.
    """
    store.execute(
        f"""
        INSERT OR IGNORE INTO unsettled (parent_id)
        SELECT DISTINCT parent_id FROM jobs
        JOIN edges ON edges.job_id = jobs.id AND edges.observed_at IS NULL
        JOIN jobs AS parent ON parent.id = parent_id AND parent.phase = 'completed'
        WHERE {_LEFT_BY.format("jobs.")}
        """,
        (owner,),
    )
    store.execute(f"UPDATE jobs SET owner = NULL, epoch = epoch + 1 WHERE {_LEFT_BY.format('')}", (owner,))


def is_waited_for(store: Store, job_id: int) -> bool:
    """Whether there is an edge to this job without a receipt yet."""
    query = "SELECT 1 FROM edges WHERE parent_id = ? AND observed_at IS NULL LIMIT 1"
    return store.row(query, (job_id,)) is not None


def owners_of_dependents(store: Store, job_id: int) -> list[str]:
    """The tokens of the owners of jobs that wait for this one."""
    rows = store.execute(
        """
        SELECT DISTINCT owners.token FROM edges
        JOIN jobs ON jobs.id = edges.job_id AND jobs.phase = 'waiting'
        JOIN owners ON owners.id = jobs.owner AND owners.gone_at IS NULL
        WHERE edges.parent_id = ?
        """,
        (job_id,),
    )
    return [token for (token,) in rows]

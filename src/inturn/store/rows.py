"""How records become rows and rows become records: the columns, named once."""

from __future__ import annotations

from inturn.core.job import Condition, Edge, Job, Run
from inturn.core.moment import Deadline, Stopwatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# How often all who wait look at the store, from `configuration`; NULL if its last file was not asked for it.
LOOKS_IN_FORCE = "iif(asked = digest, looks_per_second, NULL)"

# In the order of the fields of Job, with its deadline and stopwatch spread out.
JOB_COLUMNS = (
    *("id", "revision", "phase", "held_phase", "outcome", "reason", "stop_reason"),
    *("queue", "pool", "slots", "priority"),
    *("next_run_at", "due_boot", "due_at"),
    *("in_line", "bypass_count", "round", "attempts", "successes", "failures", "runs", "crashes"),
    *("owner", "epoch"),
    *("watch_used", "watch_wall", "watch_mono", "watch_boot"),
    *(
        "name",
        "array_id",
        "array_index",
        "throttle",
        "conditional",
        "submitted_at",
        "started_at",
        "completed_at",
    ),
)
_DUE = JOB_COLUMNS.index("next_run_at")
_WATCH = JOB_COLUMNS.index("watch_used")

RUN_COLUMNS = (
    *("job_id", "number", "attempt", "round", "token", "log", "admitted_at"),
    *("outcome", "exit_code", "signal", "failure", "diagnostic", "started_at", "finished_at"),
    *("native_id", "executable", "devices"),
    *("watch_used", "watch_wall", "watch_mono", "watch_boot"),
    *("user_us", "system_us", "max_rss", "log_incomplete"),
)
EVENT_COLUMNS = ("job_id", "at", "kind", "source", "target", "reason", "run")
_RUN_WATCH = RUN_COLUMNS.index("watch_used")

SELECT_JOB = "SELECT " + ", ".join("jobs." + column for column in JOB_COLUMNS) + " FROM jobs"
SELECT_RUN = "SELECT " + ", ".join(RUN_COLUMNS) + " FROM runs"
SELECT_EDGE = """
    SELECT edges.job_id, parent_id, outcomes, observed_outcome, observed_revision, observed_completed_at,
        observed_at, parent.name, parent.phase, parent.outcome, parent.revision, parent.completed_at
    FROM edges JOIN jobs AS parent ON parent.id = parent_id
"""
SELECT_CONDITION = """
    SELECT job_id, position, kind, argument, due_wall, due_boot, due_at, satisfied_at, observed_at, diagnostic
    FROM conditions
"""


def job_from(row: tuple[Any, ...]) -> Job:
    """The job of a row of SELECT_JOB."""
    wall, boot, at = row[_DUE : _DUE + 3]
    due = Deadline(wall, boot, at if boot else 0)
    watch = Stopwatch(*row[_WATCH : _WATCH + 4])
    return Job._make((*row[:_DUE], due, *row[_DUE + 3 : _WATCH], watch, *row[_WATCH + 4 :]))


def job_values(job: Job) -> tuple[Any, ...]:
    """The values of JOB_COLUMNS."""
    due = job.due
    # Where the wall clock decides, `due_at` repeats it, so that one comparison finds all that is due.
    at = due.at if due.boot else due.wall
    return (*job[:_DUE], due.wall, due.boot, at, *job[_DUE + 1 : _WATCH - 2], *job.watch, *job[_WATCH - 1 :])


def run_from(row: tuple[Any, ...]) -> Run:
    """The run of a row of SELECT_RUN."""
    watch = Stopwatch(*row[_RUN_WATCH : _RUN_WATCH + 4])
    return Run._make((*row[:_RUN_WATCH], watch, *row[_RUN_WATCH + 4 :]))


def run_values(run: Run) -> tuple[Any, ...]:
    """The values of RUN_COLUMNS."""
    return (*run[:_RUN_WATCH], *run.watch, *run[_RUN_WATCH + 1 :])


def edge_from(row: tuple[Any, ...]) -> Edge:
    """The edge of a row of SELECT_EDGE."""
    return Edge._make((row[0], row[1], tuple(row[2].split(",")), *row[3:]))


def condition_from(row: tuple[Any, ...]) -> Condition:
    """The wait condition of a row of SELECT_CONDITION."""
    return Condition._make((*row[:4], Deadline(*row[4:7]), *row[7:]))


def marks(values: Sequence[object]) -> str:
    """As many question marks as there are values or columns."""
    return ", ".join("?" * len(values))

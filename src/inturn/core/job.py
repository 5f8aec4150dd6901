"""Jobs, runs, edges and wait conditions as immutable snapshots, and the words for their states.

A snapshot is what one transaction read. Nothing here changes a job: see `inturn.core.transitions`.
"""

from __future__ import annotations

from inturn.core.moment import NO_DEADLINE, Deadline, Stopwatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

PHASES = ("submitting", "waiting", "queued", "starting", "running", "paused", "stopping", "completed")

# Phases in which the job holds an admission. A paused job does so only if it has a target.
ACTIVE = ("starting", "running", "stopping")

# NAME@latest means the newest job that has the name.
LATEST = "@latest"

OUTCOMES = ("success", "failure", "timed_out", "cancelled", "aborted", "lost", "submission_failed")
RUN_OUTCOMES = ("success", "failure", "timed_out", "cancelled", "start_failed", "lost")

# What `status` says of a job: its outcome once completed, else its phase, with a job in line told apart
# from one whose time has not come.
STATUSES = (
    "submitting",
    "waiting",
    "scheduled",
    "backoff",
    "queued",
    "starting",
    "running",
    "paused",
    "stopping",
    *OUTCOMES,
)

# Where a job stands in the line for admission.
NOT_IN_LINE = 0  # not queued, or its time has not come
IN_LINE = 1  # queued and due: it competes
SILENT = 2  # queued and due, but nobody answers for it: it does not compete until its owner shows up again

# Why a run was stopped, by rising weight: a heavier reason replaces a lighter one that is under way.
# `requeued`: its worker had to stop; the job goes back to its place in line, uncharged.
STOP_REASONS = ("requeued", "run_timeout", "job_timeout", "cancelled")


class Job(NamedTuple):
    """The scheduling row of a job.

    `queue` is empty for a supervised job and `pool` is empty without a pool. `due` is when the job becomes or
    became eligible; its `wall` is the public `next_run_at`. `attempts` counts the runs started in this round,
    `runs` those ever started. `epoch` grows with each change of owner, `revision` with each transition.
    `array_id` is the id of the first job of its array; `throttle` repeats it if the array lets only so many
    of its jobs run at once, else it is 0. `conditional` is 1 if the job has wait conditions.
    """

    id: int
    revision: int
    phase: str
    held_phase: str | None
    outcome: str | None
    reason: str | None
    stop_reason: str | None
    queue: str
    pool: str
    slots: int
    priority: int
    due: Deadline
    in_line: int
    bypass_count: int
    round: int
    attempts: int
    successes: int
    failures: int
    runs: int
    crashes: int
    owner: int | None
    epoch: int
    watch: Stopwatch
    name: str | None
    array_id: int | None
    array_index: int | None
    throttle: int
    conditional: int
    submitted_at: int
    started_at: int | None
    completed_at: int | None

    @property
    def status(self) -> str:
        """One of STATUSES; the generated column `status` of the store says the same."""
        if self.outcome is not None:
            return self.outcome
        if self.phase == "queued" and self.in_line == NOT_IN_LINE:
            return "backoff" if self.attempts else "scheduled"
        return self.phase

    @property
    def supervised(self) -> bool:
        """Whether the job has a supervisor of its own, rather than being claimed from a queue."""
        return not self.queue


class Run(NamedTuple):
    """One invocation of the job's command.

    Times are wall microseconds. `native_id` is the engine's own name of the running target, empty until the
    target is bound. `failure` is the engine's word for why nothing could be started, `diagnostic` a sentence.
    `devices` are those of its pool that the run may use, joined by commas. `watch` measures the run timeout.
    `log` is the stem of the log files, relative to the store. CPU times are microseconds and `max_rss` is
    bytes.
    """

    job_id: int
    number: int
    attempt: int
    round: int
    token: str
    log: str
    admitted_at: int
    outcome: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    failure: str | None = None
    diagnostic: str | None = None
    started_at: int | None = None
    finished_at: int | None = None
    native_id: str = ""
    executable: bytes = b""
    devices: str = ""
    watch: Stopwatch = Stopwatch()
    user_us: int | None = None
    system_us: int | None = None
    max_rss: int | None = None
    log_incomplete: int = 0


class Edge(NamedTuple):
    """A dependency, resolved to a job's id at submission, with its receipt once it has been judged.

    The `parent_*` fields are what the parent looks like now; the `observed_*` fields are the receipt, written
    once a round: the parent's outcome and revision, when it completed, and when that was seen.
    """

    job_id: int
    parent_id: int
    outcomes: tuple[str, ...]
    observed_outcome: str | None = None
    observed_revision: int | None = None
    observed_completed_at: int | None = None
    observed_at: int | None = None
    parent_name: str | None = None
    parent_phase: str = "completed"
    parent_outcome: str | None = None
    parent_revision: int = 0
    parent_completed_at: int | None = None

    @property
    def judged(self) -> bool:
        """Whether the receipt has been written."""
        return self.observed_at is not None

    @property
    def satisfied(self) -> bool:
        """Whether the receipt says what was hoped for."""
        return self.observed_outcome in self.outcomes


class Condition(NamedTuple):
    """A wait condition of a job. `argument` is a path, or NUL-joined arguments, or empty.

    `due` is the instant of a delay or of an absolute time. `satisfied_at` and `observed_at` are wall
    microseconds of the last evaluation; `diagnostic` says in a few words what was seen.
    """

    job_id: int
    position: int
    kind: str
    argument: bytes = b""
    due: Deadline = NO_DEADLINE
    satisfied_at: int | None = None
    observed_at: int | None = None
    diagnostic: str | None = None

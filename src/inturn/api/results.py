"""What became of a job and of its runs, as Python has it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from inturn.errors import InturnError
from inturn.service.outcome import exit_status

if TYPE_CHECKING:
    from inturn.core import job
    from inturn.core.views import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One invocation of a job's command.

    `outcome` is None while it goes on. `signal` is the number of the signal that ended it, `diagnostic` says
    why it could not be started. Times are in UTC; `max_rss` is bytes.
    """

    number: int
    attempt: int
    outcome: str | None
    exit_code: int | None
    signal: int | None
    diagnostic: str | None
    started_at: datetime | None
    finished_at: datetime | None
    user_time: timedelta | None
    system_time: timedelta | None
    max_rss: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a job ended.

    `outcome` is one of success, failure, timed_out, cancelled, aborted, lost and submission_failed, and
    `reason` says more of it. `exit_code` and `signal` are those of its last run, None if it never ran;
    `exit_status` is what a shell would have: 0 exactly for a success, 128 + n for a signal, 124 for a
    timeout, 126 or 127 for what could not be started, 6 for what never ran.
    """

    id: int
    name: str | None
    outcome: str
    reason: str | None
    exit_code: int | None
    signal: int | None
    exit_status: int
    runs: tuple[Run, ...]
    submitted_at: datetime
    started_at: datetime | None
    completed_at: datetime

    @property
    def ok(self) -> bool:
        """Whether the job succeeded."""
        return self.outcome == "success"

    def check(self) -> Result:
        """The result itself, if the job succeeded. Raises InturnError `incomplete` if it did not."""
        if self.ok:
            return self
        who = f"job {self.id}" if self.name is None else f"job {self.id} ({self.name})"
        told = f"exit code {self.exit_code}" if self.exit_code else self.reason
        raise InturnError(
            "incomplete",
            f"{who} ended as {self.outcome}" + (f" ({told})" if told else ""),
            f"See what it wrote: inturn logs {self.id}",
        )


def result(view: View) -> Result:
    """The result of a job that has ended. Raises InturnError `conflict` if it has not, or not any more."""
    it, last = view.job, view.last_run
    if it.outcome is None or it.completed_at is None:
        raise InturnError(
            "conflict", f"job {it.id} has begun another round meanwhile", "Wait for it once more."
        )
    ours = last if last is not None and last.round == it.round else None
    return Result(
        id=it.id,
        name=it.name,
        outcome=it.outcome,
        reason=it.reason,
        exit_code=ours.exit_code if ours else None,
        signal=ours.signal if ours else None,
        exit_status=exit_status(it, last),
        runs=runs(view),
        submitted_at=instant(it.submitted_at),
        started_at=_instant(it.started_at),
        completed_at=instant(it.completed_at),
    )


def runs(view: View) -> tuple[Run, ...]:
    """All runs of a job."""
    return tuple(map(_run, view.runs))


def instant(wall: int) -> datetime:
    """Wall microseconds as a time in UTC."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=wall)


def _run(it: job.Run) -> Run:
    return Run(
        number=it.number,
        attempt=it.attempt,
        outcome=it.outcome,
        exit_code=it.exit_code,
        signal=it.signal,
        diagnostic=it.diagnostic,
        started_at=_instant(it.started_at),
        finished_at=_instant(it.finished_at),
        user_time=_span(it.user_us),
        system_time=_span(it.system_us),
        max_rss=it.max_rss,
    )


def _instant(wall: int | None) -> datetime | None:
    return None if wall is None else instant(wall)


def _span(us: int | None) -> timedelta | None:
    return None if us is None else timedelta(microseconds=us)

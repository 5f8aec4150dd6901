"""What somebody at a terminal sees while they wait: how many jobs are where, and what runs for how long."""

from __future__ import annotations

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from inturn.core.job import ACTIVE, STATUSES
from inturn.core.phrases import label, rough

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from rich.console import RenderableType

    from inturn.core.job import Job
    from inturn.core.moment import Now

# So many of the active jobs have a line of their own.
_LINES = 8

_COLOURS = {
    "success": "green",
    "failure": "red",
    "timed_out": "red",
    "lost": "red",
    "cancelled": "yellow",
    "aborted": "yellow",
    "running": "cyan",
}


class Progress:
    """A few lines on standard error that keep up with the jobs, and are gone at the end.

    Nothing appears where there is nothing to wait for.
    """

    def __init__(self, now: Callable[[], Now]) -> None:
        self._now = now
        self._started = now()
        self._jobs: Sequence[Job] = ()
        self._live = Live(
            console=Console(stderr=True, highlight=False),
            get_renderable=self._render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, jobs: Sequence[Job]) -> None:
        """Go on with these snapshots of the jobs."""
        self._jobs = jobs
        if self._live.is_started:
            self._live.refresh()
        elif any(job.phase != "completed" for job in jobs):
            self._live.start(refresh=True)

    def _render(self) -> RenderableType:
        now = self._now()
        return drawing(self._jobs, now, now.mono - self._started.mono)


def drawing(jobs: Sequence[Job], now: Now, elapsed: int) -> RenderableType:
    """The lines for these jobs after `elapsed` microseconds of waiting."""
    active = [job for job in jobs if job.phase in ACTIVE]
    lines = [_totals(jobs, elapsed)]
    lines += [_line(job, now) for job in active[:_LINES]]
    if len(active) > _LINES:
        lines.append(Text(f"  and {len(active) - _LINES} more", style="dim"))
    return Group(*lines)


def _totals(jobs: Sequence[Job], elapsed: int) -> Text:
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job.status] = counts.get(job.status, 0) + 1
    text = Text(no_wrap=True, overflow="ellipsis")
    for status in sorted(counts, key=STATUSES.index):
        text.append(f"{counts[status]} {status}", style=_COLOURS.get(status, ""))
        text.append("  ")
    return text.append(rough(elapsed), style="dim")


def _line(job: Job, now: Now) -> Text:
    since = "" if job.started_at is None else "  " + rough(now.wall - job.started_at)
    run = f"  run {job.runs}" if job.runs > 1 else ""
    text = Text("  ", no_wrap=True, overflow="ellipsis")
    text.append(label(job.id, job.name))
    text.append(f"  {job.phase}", style=_COLOURS.get(job.phase, ""))
    return text.append(run + since, style="dim")

"""What somebody at a terminal sees while they wait.

How many jobs are where, what runs for how long, and how long it may still take by what earlier jobs of the
same names took.
"""

from __future__ import annotations

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from inturn.cli.render import STYLES
from inturn.core import estimate
from inturn.core.job import ACTIVE, STATUSES
from inturn.core.moment import SECOND
from inturn.core.phrases import label, rough

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import RenderableType

    from inturn.core.estimate import Usual
    from inturn.core.job import Job
    from inturn.core.moment import Now

# So many of the active jobs have a line of their own.
_LINES = 8

# Their estimate would only cost time: nobody follows so many by eye.
_ESTIMATED = 100_000


class Progress:
    """A few lines on standard error that keep up with the jobs, and are gone at the end.

    Nothing appears where there is nothing to wait for.
    """

    def __init__(
        self,
        now: Callable[[], Now],
        look: Callable[[Sequence[Job]], tuple[Sequence[Job], Mapping[str, Usual]]],
        elapsed: int = 0,
    ) -> None:
        """`look` is History.look; `elapsed` is how long the jobs have been awaited already."""
        self._now = now
        self._look = look
        self._started = now().mono - elapsed
        self._jobs: Sequence[Job] = ()
        self._known: Mapping[str, Usual] = {}
        self._live = Live(
            console=Console(stderr=True, highlight=False),
            get_renderable=self._render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def stop(self) -> None:
        """Take the lines away."""
        self._live.stop()

    def show(self, jobs: Sequence[Job]) -> None:
        """Go on with these snapshots of the jobs."""
        if len(jobs) <= _ESTIMATED:
            self._jobs, self._known = self._look(jobs)
        else:
            self._jobs, self._known = jobs, {}
        if self._live.is_started:
            self._live.refresh()
        elif any(job.phase != "completed" for job in jobs):
            self._live.start(refresh=True)

    def _render(self) -> RenderableType:
        now = self._now()
        return drawing(self._jobs, now, now.mono - self._started, self._known)


def drawing(jobs: Sequence[Job], now: Now, elapsed: int, known: Mapping[str, Usual]) -> RenderableType:
    """The lines for these jobs after `elapsed` microseconds of waiting; `known` is what is usual by name."""
    active = [job for job in jobs if job.phase in ACTIVE]
    lines = [_totals(jobs, elapsed)]
    lines += [_line(job, now, known.get(job.name or "")) for job in active[:_LINES]]
    if len(active) > _LINES:
        lines.append(Text(f"  and {len(active) - _LINES} more", style="dim"))
    if known:
        lines += _estimate(jobs, now, known)
    return Group(*lines)


def _estimate(jobs: Sequence[Job], now: Now, known: Mapping[str, Usual]) -> Sequence[Text]:
    left = estimate.remaining(jobs, known, now.wall)
    if left is None:
        return ()
    names = {job.name for job in jobs if job.phase != "completed"}
    runs = sum(it.runs for name, it in known.items() if name in names)
    told = "longer than usual"
    if left:
        told = f"{rough(left)} left" if left >= SECOND else "less than 1s left"
    of = f"median of {runs} earlier runs" if runs > 1 else "by one earlier run"
    return (Text(f"estimate: {told} ({of})", style="dim", no_wrap=True, overflow="ellipsis"),)


def _totals(jobs: Sequence[Job], elapsed: int) -> Text:
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job.status] = counts.get(job.status, 0) + 1
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(rough(elapsed), style="dim")
    for status in sorted(counts, key=STATUSES.index):
        text.append("  ").append(f"{counts[status]} {status}", style=STYLES[status])
    return text


def _line(job: Job, now: Now, usual: Usual | None) -> Text:
    since = "" if job.started_at is None else "  " + rough(now.wall - job.started_at)
    run = f"  run {job.runs}" if job.runs > 1 else ""
    text = Text("  ", no_wrap=True, overflow="ellipsis")
    text.append(f"{job.phase}", style=STYLES[job.phase])
    text.append(run + since, style="dim")
    if usual is not None and usual.median >= SECOND:
        text.append(f" of about {rough(usual.median)}", style="dim")
    return text.append("  " + label(job.id, job.name))

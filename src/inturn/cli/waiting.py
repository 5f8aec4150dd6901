"""Waiting for jobs, at a terminal with a display of what they do."""

from __future__ import annotations

import sys
from time import sleep

from inturn.core.moment import MILLISECOND
from inturn.core.phrases import label, signal_name
from inturn.service.control import wait_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from inturn.cli.progress import Progress
    from inturn.core.job import Job
    from inturn.core.views import View
    from inturn.service.context import Context

# What is over so soon (µs) needs no display, and does not wait until rich is loaded.
_SOON = 300 * MILLISECOND

# So many of the jobs that did not succeed are told.
_TOLD = 10


def await_jobs(context: Context, ids: Sequence[int], timeout: int | None, quiet: bool) -> list[Job]:
    """Wait for the end of the jobs. Raises as `wait_for` does.

    Unless `quiet`, the progress is shown if standard error is a terminal.
    """
    from inturn.app import tend

    def look_after(open_ones: Collection[int]) -> None:
        tend(context, open_ones)

    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return wait_for(context, ids, timeout, tend=look_after)
    with _Display(context) as display:
        return wait_for(context, ids, timeout, display.show, look_after, display.pause)


def tell(context: Context, failed: Sequence[Job]) -> None:
    """Tell of jobs that did not succeed how each ended, and why: the first of them, a line each."""
    from inturn.service import query

    for view in query.look_at(context, (str(job.id) for job in failed[:_TOLD]), False):
        why = _why(view)
        told = f"{label(view.job.id, view.job.name)} ended as {view.job.outcome}"
        context.notice(f"{told} ({why})" if why else told)
    if len(failed) > _TOLD:
        context.notice(f"and {len(failed) - _TOLD} more did not succeed")


def _why(view: View) -> str | None:
    """In a few words, why a job did not succeed."""
    run = view.last_run
    if view.job.outcome != "failure" or run is None:
        return view.job.reason
    if run.exit_code is not None:
        return f"exit {run.exit_code}"
    return run.diagnostic if run.signal is None else signal_name(run.signal)


class _Display:
    """The progress, once there is something to wait for."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._started = context.now().mono
        self._jobs: Sequence[Job] = ()
        self._progress: Progress | None = None

    def __enter__(self) -> _Display:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, jobs: Sequence[Job]) -> None:
        """The jobs as they are now."""
        self._jobs = jobs
        if self._progress is not None:
            self._progress.show(jobs)

    def pause(self, seconds: float) -> None:
        """Sleep between two looks at the jobs."""
        waited = self._context.now().mono - self._started
        if self._progress is None and waited >= _SOON:
            self._progress = self._begin(waited)
            self._progress.show(self._jobs)
        sleep(seconds)

    def _begin(self, waited: int) -> Progress:
        from inturn.cli.progress import Progress
        from inturn.service.estimate import History

        return Progress(self._context.now, History(self._context).look, waited)

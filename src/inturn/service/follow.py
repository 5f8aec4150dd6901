"""Following the output of a job, from run to run, to its end."""

from __future__ import annotations

from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.transitions import holds_slots
from inturn.host import sinks
from inturn.service import output
from inturn.store import jobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from inturn.core.job import Job
    from inturn.service.context import Context
    from inturn.service.output import Log, Wanted

# How often a log that grows is looked at (µs).
EVERY = 40 * MILLISECOND


# How often it looks whether the owner of the job lives (µs).
TEND_EVERY = 3 * SECOND


def follow(
    context: Context,
    job_id: int,
    wanted: Wanted,
    out: int,
    tend: Callable[[Collection[int]], None] | None = None,
) -> None:
    """Write to the descriptor `out` what has been written, and what is to come, until the job is completed.

    One run after the other, from the last one on (with `every`, from the first one), also before any exists;
    a `run` that was asked for is followed to its own end. With `lines`, of what is there already only these.
    `tend` is called now and then with the job, to see whether its owner lives.
    Raises InturnError `not_found` if there is no such job, or it ends without such a run, and
    `store_unusable` if the store was removed or replaced; BrokenPipeError when nobody reads any more.
    """
    follower = _Follower(context, output.load_job(context, job_id), wanted, out, tend)
    try:
        follower.go()
    finally:
        follower.sink.close()


class _Follower:
    def __init__(
        self,
        context: Context,
        job: Job,
        wanted: Wanted,
        out: int,
        tend: Callable[[Collection[int]], None] | None,
    ) -> None:
        assert context.store is not None
        self.sink = output.open_sink(wanted, out)
        self._context = context
        self._store = context.store
        self._version = -1
        self._job = job
        self._wanted = wanted
        self._out = out
        self._tend = tend
        self._tended = context.now().mono

    def go(self) -> None:
        """Until the job is completed, or the run that was asked for is over."""
        output.say_if_merged(self._context, self._job, self._wanted)
        log = self._backlog()
        number = log.run.number if log else self._wanted.run or 1
        while True:
            self._look()
            log = log or self._begin_run(number)
            if log is not None:
                # Asked before the files are read: what a run has written before it was over, is in them then.
                over = self._over(number)
                log = self._grow(log)
                if over:
                    self._end_run(number)
                    number, log = number + 1, None
                    if self._wanted.run is not None:
                        return
                    continue
            elif self._job.phase == "completed":
                self._say_if_nothing_came(number)
                return
            sinks.pause(self._out, EVERY)

    def _backlog(self) -> Log | None:
        """Write what is there already; the log to go on with, if there is one."""
        if self._wanted.run is not None and self._wanted.run > self._job.runs:
            return None
        found = output.find_logs(self._context, self._job, self._wanted)
        output.write(output.backlog(found, self._wanted), self.sink)
        for log in found[:-1]:
            output.say_if_incomplete(self._context, log.run)
        return found[-1] if found else None

    def _begin_run(self, number: int) -> Log | None:
        """Write what a run has written since it was started, if it was."""
        if self._job.runs < number:
            # If it has been started since the look, the job as it was seen would say that it is over.
            return None
        log = output.open_log(self._context, self._job.id, number)
        if log is not None:
            output.write(output.backlog([log], self._wanted._replace(lines=None)), self.sink)
        return log

    def _look(self) -> None:
        """Load the job again if the store has changed."""
        self._store.check_in_place()
        if self._tend is not None and self._context.now().mono - self._tended >= TEND_EVERY:
            self._tend([self._job.id])
            self._tended = self._context.now().mono
            self._version = -1  # What we have committed ourselves does not show in it.
        version = self._store.version()  # before the look: a later commit will show as another one
        if version != self._version:
            self._version = version
            self._job = output.load_job(self._context, self._job.id)

    def _over(self, number: int) -> bool:
        """Whether a run, and what was left of it, has ended."""
        return self._job.runs > number or not holds_slots(self._job)

    def _grow(self, log: Log) -> Log:
        """Write what has been added; the log as it is now."""
        sizes = output.sizes_of(log.stem)
        now = self._context.now().wall
        for stream, end in sizes.items():
            start = log.sizes[stream]
            if start < end and self._wanted.stream in (None, stream):
                self.sink.write(log.piece(stream, now, start, end))
        return log._replace(sizes=sizes)

    def _end_run(self, number: int) -> None:
        self.sink.end_run()
        run = jobs.load_run(self._store, self._job.id, number)
        if run is not None:
            output.say_if_incomplete(self._context, run)

    def _say_if_nothing_came(self, number: int) -> None:
        if self._wanted.run is not None:
            raise output.no_such_run(self._job, number)
        if not self._job.runs:
            self._context.notice(f"job {self._job.id} has ended without a run")

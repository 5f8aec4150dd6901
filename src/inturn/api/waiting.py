"""Waiting until jobs have ended: by blocking, or as a coroutine."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable
from time import monotonic, sleep
from typing import TYPE_CHECKING

from inturn.api import results
from inturn.api.values import microseconds
from inturn.core.moment import SECOND
from inturn.errors import InturnError
from inturn.service import control, query
from inturn.service.acting import NoSuchJob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from inturn.api.connection import Connection
    from inturn.api.job import Array, Job
    from inturn.api.options import Duration
    from inturn.api.results import Result
    from inturn.api.store import Store
    from inturn.core import job

    Awaited: TypeAlias = Job | Array | Iterable[Job | Array]


# What is awaited in a store that was busy is looked at again after this pause (seconds).
_BUSY_PAUSE = 0.1


class WaitTimeout(InturnError, TimeoutError):
    """Jobs did not end in time; they go on. Its code is `incomplete`."""


def wait(jobs: Awaited, timeout: Duration | None = None) -> list[Result]:
    """Block until all these jobs have ended; their results, in the order given, those of arrays one by one.

    Raises WaitTimeout after `timeout` (seconds, a text such as "5m", or a timedelta), and InturnError
    `not_found` for a job that is no more, or `store_unusable` if the store was removed or replaced.
    """
    patience = microseconds("timeout", timeout)
    handles = list(_flat(jobs))
    for store, ids in _by_store(handles).items():
        started = monotonic()
        _wait(store._connection, ids, patience)
        if patience is not None:
            patience = max(patience - int((monotonic() - started) * SECOND), 0)
    return _results(handles)


async def finished(jobs: Awaited) -> list[Result]:
    """As `wait`, for a coroutine: the event loop goes on, and the waiting can be cancelled.

    `asyncio.timeout` bounds it.
    """
    handles = list(_flat(jobs))
    await asyncio.gather(*(store._watch.ended(ids) for store, ids in _by_store(handles).items()))
    return await asyncio.to_thread(_results, handles)


class Watch:
    """Tells coroutines that jobs of a store have ended.

    One thread waits for all of them, and lives as long as there are any.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._requests: set[_Request] = set()
        self._changed = threading.Event()
        self._busy = False

    async def ended(self, job_ids: Sequence[int]) -> None:
        """Return when these jobs have ended. Raises InturnError as `control.wait_for`.

        While the store is busy, it goes on waiting.
        """
        # What does not exist is to be told to whoever asks for it, and to nobody else.
        await asyncio.to_thread(self._look_for, job_ids)
        request = _Request(asyncio.get_running_loop(), job_ids)
        self._add(request)
        try:
            await request.done
        finally:
            with self._lock:
                self._requests.discard(request)
            self._changed.set()

    def _look_for(self, job_ids: Sequence[int]) -> None:
        with self._connection.use() as context:
            query.look_at(context, map(str, job_ids), False)

    def _add(self, request: _Request) -> None:
        if self._pid != os.getpid():
            self._forget()  # The thread has stayed on the other side of a fork.
        with self._lock:
            self._requests.add(request)
            self._changed.set()
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._live, name="inturn-wait", daemon=True).start()

    def _live(self) -> None:
        while job_ids := self._awaited():
            try:
                _wait(self._connection, job_ids, progress=self._tell, pause=self._pause)
            except _Changed:
                pass
            except NoSuchJob as problem:
                self._fail(problem, problem.job_id)
            except BaseException as problem:
                if isinstance(problem, InturnError) and problem.code == "store_busy":
                    self._changed.wait(_BUSY_PAUSE)
                else:
                    self._fail(problem)

    def _awaited(self) -> list[int]:
        """The jobs that somebody waits for; if there are none, this thread is done."""
        with self._lock:
            self._changed.clear()
            found = sorted({job_id for request in self._requests for job_id in request.open})
            self._busy = bool(found)
        return found

    def _tell(self, jobs: Sequence[job.Job]) -> None:
        ended = {one.id for one in jobs if one.phase == "completed"}
        with self._lock:
            for request in list(self._requests):
                request.open -= ended
                if not request.open:
                    self._requests.discard(request)
                    request.settle(None)

    def _fail(self, problem: BaseException, job_id: int | None = None) -> None:
        """Tell those who wait for this job of a problem, or everybody if it is one of the whole store."""
        with self._lock:
            concerned = {one for one in self._requests if job_id is None or job_id in one.open}
            self._requests -= concerned
            for request in concerned:
                request.settle(problem)

    def _pause(self, seconds: float) -> None:
        if self._changed.wait(seconds):
            raise _Changed


class _Changed(Exception):
    """Other jobs are awaited than before."""


class _Request:
    """A coroutine that waits for jobs. All but `done` belongs to the thread that has the lock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, job_ids: Iterable[int]) -> None:
        self._loop = loop
        self.open = set(job_ids)
        self.done: asyncio.Future[None] = loop.create_future()

    def settle(self, problem: BaseException | None) -> None:
        """Let it go on; from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._settle, problem)
        except RuntimeError:
            pass  # The loop is closed: nobody waits any more.

    def _settle(self, problem: BaseException | None) -> None:
        if self.done.done():
            return
        if problem is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(problem)


def _wait(
    connection: Connection,
    job_ids: Sequence[int],
    timeout: int | None = None,
    progress: Callable[[Sequence[job.Job]], None] | None = None,
    pause: Callable[[float], object] = sleep,
) -> None:
    with connection.separate() as context:
        try:
            control.wait_for(context, job_ids, timeout, progress, connection.tend, pause)
        except InturnError as problem:
            if problem.code == "incomplete":
                raise WaitTimeout(problem.code, problem.message, problem.hint) from None
            raise


def _results(handles: Sequence[Job]) -> list[Result]:
    found: dict[tuple[Store, int], Result] = {}
    for store, ids in _by_store(handles).items():
        with store._connection.use() as context:
            views = query.look_at(context, map(str, ids), True)
        found |= {(store, view.job.id): results.result(view) for view in views}
    return [found[handle.store, handle.id] for handle in handles]


def _by_store(handles: Iterable[Job]) -> dict[Store, list[int]]:
    found: dict[Store, list[int]] = {}
    for handle in handles:
        found.setdefault(handle.store, []).append(handle.id)
    return found


def _flat(jobs: object) -> Iterator[Job]:
    from inturn.api.job import Job

    if isinstance(jobs, Job):
        yield jobs
    elif isinstance(jobs, Iterable) and not isinstance(jobs, str | bytes):
        for one in jobs:
            yield from _flat(one)
    else:
        raise InturnError(
            "usage", f"{jobs!r} is no handle of a job", "Get one with store.job(7) or store.job('name')."
        )

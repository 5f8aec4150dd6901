"""Handles: a job, and an array of jobs. They hold an id; whatever they tell is read from the store then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from inturn.api import output, results, waiting
from inturn.api.values import Reference
from inturn.core import wire
from inturn.errors import InturnError
from inturn.service import query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from inturn.api.options import Duration
    from inturn.api.results import Result, Run
    from inturn.api.store import Store
    from inturn.core.reasons import Reason
    from inturn.core.views import View


class Job(Reference):
    """A job of a store. Two handles are equal if they are of the same job."""

    __slots__ = ("_store", "id")

    def __init__(self, store: Store, job_id: int) -> None:
        self._store = store
        self.id = job_id

    @property
    def store(self) -> Store:
        """The store that it is in."""
        return self._store

    @property
    def name(self) -> str | None:
        """Its name, or None."""
        return self._view().job.name

    @property
    def status(self) -> str:
        """Where it is now: its outcome once it has ended, before that waiting, queued, running and so on."""
        return self._view().job.status

    @property
    def outcome(self) -> str | None:
        """How it ended; None while it has not."""
        return self._view().job.outcome

    @property
    def runs(self) -> tuple[Run, ...]:
        """Its runs so far, one that goes on included."""
        return results.runs(self._view(detailed=True))

    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self.outcome is not None

    def details(self) -> dict[str, Any]:
        """Everything about it: the document of `inturn show --json`."""
        with self._store._connection.use() as context:
            return wire.dossier(query.describe(context, str(self.id)), values=False)

    def why(self) -> tuple[Reason, ...]:
        """Why it is where it is."""
        with self._store._connection.use() as context:
            return query.why(context, str(self.id))[1]

    def wait(self, timeout: Duration | None = None) -> Result:
        """Block until it has ended. Raises WaitTimeout after `timeout`."""
        return waiting.wait(self, timeout)[0]

    async def finished(self) -> Result:
        """As `wait`, for a coroutine: the event loop goes on, and the waiting can be cancelled."""
        return (await waiting.finished(self))[0]

    def logs(
        self,
        stream: Literal["stdout", "stderr"] | None = None,
        run: int | Literal["all"] | None = None,
        lines: int | None = None,
        timestamps: bool = False,
    ) -> bytes:
        """What it has written: in its last run, in the run with a number, or in all of them.

        Both streams in the order seen, or one of them; the last `lines`, or all. Raises InturnError
        `not_found` for a run that there is not.
        """
        return output.read(self._store._connection, self.id, output.wanted(stream, run, lines, timestamps))

    def follow(
        self,
        stream: Literal["stdout", "stderr"] | None = None,
        run: int | Literal["all"] | None = None,
        lines: int | None = None,
        timestamps: bool = False,
    ) -> Iterator[bytes]:
        """As `logs`, line by line, and on as it writes, from run to run, until the job has ended."""
        return output.follow(self._store._connection, self.id, output.wanted(stream, run, lines, timestamps))

    def cancel(self) -> bool:
        """End it: at once if it only waits; if it runs its owner stops it. False if it had ended before."""
        return bool(self._store.cancel(self))

    def pause(self) -> None:
        """Hold it; a job that runs is stopped and keeps its slots. Raises InturnError `conflict`."""
        self._store.pause(self)

    def resume(self) -> None:
        """Let it go on. Raises InturnError `conflict` if it is not paused."""
        self._store.resume(self)

    def retry(self, with_dependents: bool = False) -> None:
        """Give it another round, under the same id. Raises InturnError `conflict` if it has not ended.

        `with_dependents` revives those that were aborted because of it, too.
        """
        self._store.retry(self, with_dependents=with_dependents)

    def _view(self, detailed: bool = False) -> View:
        with self._store._connection.use() as context:
            (view,) = query.look_at(context, [str(self.id)], detailed)
        return view

    def _selector(self, directory: str) -> str:
        _check_store(self._store, directory, self)
        it = self._view().job
        # The id of an array's first job stands for all of the array.
        return str(it.id) if it.array_id is None else f"{it.array_id}_{it.array_index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and (self.id, self._store) == (other.id, other._store)

    def __hash__(self) -> int:
        return hash((self.id, self._store))

    def __repr__(self) -> str:
        try:
            it = self._view().job
        except InturnError:
            return f"<inturn.Job {self.id}>"
        name = "" if it.name is None else f" {it.name!r}"
        return f"<inturn.Job {self.id}{name}: {it.status}>"


class Array(Reference, Sequence[Job]):
    """The jobs of an array, in the order of its indices. As a dependency it stands for all of them."""

    __slots__ = ("_ids", "_store")

    def __init__(self, store: Store, job_ids: Sequence[int]) -> None:
        self._store = store
        self._ids = tuple(job_ids)

    @property
    def id(self) -> int:
        """The id of the array, which is that of its first job."""
        return self._ids[0]

    @overload
    def __getitem__(self, place: int) -> Job: ...
    @overload
    def __getitem__(self, place: slice) -> list[Job]: ...
    def __getitem__(self, place: int | slice) -> Job | list[Job]:
        if isinstance(place, slice):
            return [Job(self._store, job_id) for job_id in self._ids[place]]
        return Job(self._store, self._ids[place])

    def __len__(self) -> int:
        return len(self._ids)

    def wait(self, timeout: Duration | None = None) -> list[Result]:
        """Block until all have ended. Raises WaitTimeout after `timeout`."""
        return waiting.wait(self, timeout)

    async def finished(self) -> list[Result]:
        """As `wait`, for a coroutine."""
        return await waiting.finished(self)

    def cancel(self) -> list[Job]:
        """End all that have not ended, in one transaction; returns those."""
        return self._store.cancel(self)

    def _selector(self, directory: str) -> str:
        _check_store(self._store, directory, self)
        return str(self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and (self._ids, self._store) == (other._ids, other._store)

    def __hash__(self) -> int:
        return hash((self._ids, self._store))

    def __repr__(self) -> str:
        return f"<inturn.Array {self.id}: {len(self)} jobs>"


def _check_store(store: Store, directory: str, handle: Reference) -> None:
    if store.directory != directory:
        raise InturnError("usage", f"{handle!r} is a job of another store: {store.directory}")

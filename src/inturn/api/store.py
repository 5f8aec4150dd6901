"""A store as Python sees it: where jobs are submitted, found and acted on."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inturn import app
from inturn.api import submission, values
from inturn.api.connection import Connection
from inturn.api.job import Array, Job
from inturn.api.waiting import Watch
from inturn.core import wire
from inturn.core.options import read
from inturn.core.views import Filters, check_status
from inturn.errors import InturnError
from inturn.service import acting, control, pausing, query, retry
from inturn.service.select import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Self, Unpack

    from inturn.api.options import (
        AddLine,
        AddOptions,
        Command,
        Indices,
        JobLike,
        RunLine,
        RunOptions,
        Several,
    )
    from inturn.core.views import View
    from inturn.service.acting import Acted
    from inturn.service.context import Context


def open(  # noqa: A001 - as gzip.open
    directory: str | os.PathLike[str] | None = None, config: str | os.PathLike[str] | None = None
) -> Store:
    """The store in `directory`, by default that of the command line: INTURN_DIR, or the user's own.

    `config` names another configuration file. A store that does not exist is created by the first submission.
    Raises InturnError `store_unusable` or `config_invalid`.
    """
    store = Store(
        None if directory is None else os.fspath(directory), None if config is None else os.fspath(config)
    )
    with store._connection.use():
        return store


class Store:
    """A store. Any number of threads may use one; their calls take turns, and who waits holds nobody up.

    It may be used after a fork, on both sides. Everything raises InturnError, whose `code` says what is
    wrong; see docs/errors.md.
    """

    def __init__(self, directory: str | None = None, config: str | None = None) -> None:
        if directory == "":
            raise InturnError("invalid_value", "directory is empty", "Name one, or leave it out.")
        self._connection = Connection(directory, config)
        self._watch = Watch(self._connection)

    @property
    def directory(self) -> str:
        """Where it is, as an absolute path."""
        return self._connection.directory

    # --- submitting

    def run(self, command: Command | None = None, /, **options: Unpack[RunOptions]) -> Job:
        """Submit a supervised job; returns when a supervisor has taken it over.

        `command` is a list of words; with `c=` instead, a text for a shell. The job runs in the environment,
        directory and umask of this process. The options are those of `inturn run`.
        """
        return Job(self, self._submit({"command": command, **options}, supervised=True)[0])

    def add(self, command: Command | None = None, /, **options: Unpack[AddOptions]) -> Job:
        """Put a job into a queue, where a worker (`inturn work`) takes it. Else as `run`."""
        return Job(self, self._submit({"command": command, **options}, supervised=False)[0])

    def run_array(
        self,
        indices: Indices,
        command: Command | None = None,
        /,
        *,
        each: bool = False,
        **options: Unpack[RunOptions],
    ) -> Array:
        """Submit one supervised job for each index, in one transaction; `{}` in a word is the index.

        `indices` are integers, or a text such as "1-4,7%2": at most two of them run at once. With `each` a
        dependency on another array goes index by index.
        """
        line = {"command": command, "array": indices, "each": each, **options}
        return Array(self, self._submit(line, supervised=True))

    def add_array(
        self,
        indices: Indices,
        command: Command | None = None,
        /,
        *,
        each: bool = False,
        **options: Unpack[AddOptions],
    ) -> Array:
        """Put one job for each index into a queue. Else as `run_array`."""
        line = {"command": command, "array": indices, "each": each, **options}
        return Array(self, self._submit(line, supervised=False))

    def run_many(self, jobs: Iterable[RunLine]) -> list[Job]:
        """Submit supervised jobs, all or none, in one transaction; returns them in their order.

        Each is a mapping with `command` and the options of `run`, and may have a `ref`, by which others
        depend on it as `@ref`; `array` and `each` are those of `run_array`.
        """
        return self._submit_many(jobs, supervised=True)

    def add_many(self, jobs: Iterable[AddLine]) -> list[Job]:
        """Put jobs into queues, all or none, in one transaction. Else as `run_many`."""
        return self._submit_many(jobs, supervised=False)

    # --- looking

    def job(self, selector: int | str) -> Job:
        """The job with an id, or with a name (`name@latest`: the newest of several).

        Raises InturnError `not_found` or `ambiguous`.
        """
        with self._connection.use() as context:
            return Job(self, resolve(context, str(selector)))

    def jobs(
        self,
        *,
        status: Several[str] | None = None,
        queue: Several[str] | None = None,
        pool: Several[str] | None = None,
        name: Several[str] | None = None,
        tag: Several[str] | None = None,
        array: Several[int | Array] | None = None,
        limit: int | None = None,
    ) -> list[Job]:
        """The jobs to which all of this applies, the newest first; at most `limit`.

        `status` is one of those that a job has, or live, ended, active, unsuccessful; a tag is KEY or
        KEY=VALUE. Of several values one is enough.
        """
        with self._connection.use() as context:
            filters = Filters(
                statuses=tuple(check_status(str(word)) for word in values.listed(status)),
                queues=tuple(map(str, values.listed(queue))),
                pools=tuple(map(str, values.listed(pool))),
                names=tuple(map(str, values.listed(name))),
                tags=tuple(read("tag", values.listed(tag), context.now(), str)),
                arrays=tuple(map(_array_id, values.listed(array))),
            )
            ids = query.listing(context, filters, limit, False, _id)
        return [Job(self, job_id) for job_id in ids]

    def counts(self) -> dict[str, int]:
        """How many jobs are where, by the words of `inturn status`."""
        with self._connection.use() as context:
            return wire.counts(query.totals(context).by_status())

    # --- acting

    def cancel(self, jobs: Several[JobLike]) -> list[Job]:
        """End jobs, in one transaction; returns those that had not ended before.

        One that runs is ended by its owner: this does not wait for that.
        """
        with self._changing() as context:
            found = control.cancel(context, self._ids(context, jobs))
        return [Job(self, one.job.id) for one in found if one.verdict != "ended"]

    def pause(self, jobs: Several[JobLike]) -> None:
        """Hold jobs. Raises InturnError `conflict` or `incomplete` if not all could be paused."""
        with self._changing() as context:
            acted = pausing.pause(context, self._ids(context, jobs))
        _raise_refusal(acted, "paused", "What has ended cannot be paused.")

    def resume(self, jobs: Several[JobLike]) -> None:
        """Let paused jobs go on. Raises InturnError `conflict` or `incomplete` if not all were paused."""
        with self._changing() as context:
            acted = pausing.resume(context, self._ids(context, jobs))
        _raise_refusal(acted, "resumed", "See what is paused: store.jobs(status='paused')")

    def retry(self, jobs: Several[JobLike], *, with_dependents: bool = False) -> None:
        """Give jobs another round. Raises InturnError `conflict` or `incomplete` if not all had ended.

        If none can have one because their pool is gone or has become too small: `unknown_pool`, `impossible`.
        """
        with self._changing() as context:
            acted = retry.retry(context, self._ids(context, jobs), with_dependents)
        _raise_refusal(acted, "retried", "Only what has ended can have another round.")

    # --- the rest

    def close(self) -> None:
        """Let go of the database. The next call opens it again."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and self.directory == other.directory

    def __hash__(self) -> int:
        return hash(self.directory)

    def __repr__(self) -> str:
        return f"<inturn.Store {self.directory!r}>"

    def __reduce__(self) -> tuple[object, ...]:
        return Store, (self.directory, self._connection.config)

    def _submit(self, line: dict[str, object], supervised: bool) -> list[int]:
        with self._connection.use(create=True) as context:
            return submission.submit_one(context, line, supervised)

    def _submit_many(self, lines: Iterable[RunLine | AddLine], supervised: bool) -> list[Job]:
        with self._connection.use(create=True) as context:
            ids = submission.submit_many(context, lines, supervised)
        return [Job(self, job_id) for job_id in ids]

    @contextmanager
    def _changing(self) -> Iterator[Context]:
        with self._connection.use() as context:
            app.tidy(context)
            yield context

    def _ids(self, context: Context, jobs: object) -> list[int]:
        return [job_id for one in values.listed(jobs) for job_id in _ids_of(context, one)]


def _ids_of(context: Context, one: object) -> list[int]:
    if isinstance(one, Array):
        return [job.id for job in one]
    return [one.id if isinstance(one, Job) else resolve(context, str(one))]


def _array_id(one: object) -> int:
    if isinstance(one, Array):
        return one.id
    if isinstance(one, int):
        return one
    raise InturnError("invalid_value", f"array: {one!r} is no array", "Give its id, or its handle.")


def _id(view: View) -> int:
    return view.job.id


def _raise_refusal(acted: Sequence[Acted], participle: str, hint: str) -> None:
    refusal = acting.refusal(acted, participle, hint)
    if refusal is not None:
        raise refusal

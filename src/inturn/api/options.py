"""The types of the keyword arguments of a submission.

What the options mean is in `inturn.core.options`, the one table of them; a test compares the names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, timedelta
    from typing import Any, TypeAlias, TypeVar

    from inturn.api.job import Array, Job

    T = TypeVar("T")

    Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Command: TypeAlias = Sequence[Path]
    # Seconds, or a text such as "1h30m".
    Duration: TypeAlias = float | str | timedelta
    # A `datetime` without a time zone is local time; epoch seconds, or a text in ISO 8601.
    Time: TypeAlias = date | float | str
    # A handle, an id, a name, `name@latest`, or `@ref` among the lines of one submission.
    JobLike: TypeAlias = Job | Array | int | str
    Several: TypeAlias = T | Iterable[T]
    Number: TypeAlias = int | str
    Indices: TypeAlias = str | Iterable[int]


class RunOptions(TypedDict, total=False):
    """The options of a supervised job; None is as good as leaving one out."""

    name: str | None
    tag: Several[str] | Mapping[str, str | None] | None
    note: str | None
    key: str | None
    c: str | None
    cwd: Path | None
    env: Several[str] | Mapping[str, str] | None
    env_file: Several[Path] | None
    unset_env: Several[str] | None
    stdin_file: Path | None
    after_success: Several[JobLike] | None
    after_failed: Several[JobLike] | None
    after_finish: Several[JobLike] | None
    after_outcome: Several[str] | Mapping[Any, Several[str]] | None  # of JobLike
    wait_until: Several[Time] | None
    wait_delay: Several[Duration] | None
    wait_file: Several[Path] | None
    wait_probe: Several[str] | None
    wait_mode: str | None
    wait_poll: Duration | None
    wait_abort_at: Time | None
    probe_timeout: Duration | None
    after: Duration | None
    at: Time | None
    priority: Number | None
    pool: str | None
    slots: Number | None
    retries: Number | None
    retryable_exit_code: Several[Number] | None
    retry_signal: Several[Number] | None
    retry_timeouts: bool | None
    retry_start_failures: bool | None
    retry_delay: Duration | None
    retry_backoff: str | None
    retry_max_delay: Duration | None
    retry_jitter: Duration | None
    retry_abort_at: Time | None
    success_exit_code: Several[Number] | None
    max_runs: Number | None
    success_target: Number | None
    failure_limit: Number | None
    max_crashes: Number | None
    run_timeout: Duration | None
    job_timeout: Duration | None
    stop_grace: Duration | None
    merge_output: bool | None
    leave_children: bool | None
    nice: Number | None


class AddOptions(RunOptions, total=False):
    """The options of a queued job."""

    queue: str | None


class RunLine(RunOptions, total=False):
    """One of several supervised jobs; `ref` names it, so that others may depend on it as `@ref`."""

    command: Command
    ref: str
    array: Indices
    each: bool


class AddLine(AddOptions, total=False):
    """One of several queued jobs; see RunLine."""

    command: Command
    ref: str
    array: Indices
    each: bool

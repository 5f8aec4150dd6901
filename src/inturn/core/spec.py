"""What the user asked for, validated once and never changed by the scheduler."""

from __future__ import annotations

from inturn.core.job import OUTCOMES
from inturn.core.retry import Policy
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

CONDITION_KINDS = ("until", "delay", "file", "probe")

# The outcomes that satisfy each kind of dependency (the article's predicates).
PREDICATES = {
    "success": ("success",),
    "failed": ("failure",),
    "finish": OUTCOMES,
}


class Spec(NamedTuple):
    """The unchanging part of a job.

    Bytes are as the system handed them over: arguments, paths and the environment need not be UTF-8.
    `environment` is the submitter's, as NAME=VALUE; `env_changes` holds NAME=VALUE to set and NAME to unset.
    Durations are microseconds, absolute times wall microseconds; None means unlimited, or not asked for.
    """

    argv: tuple[bytes, ...]
    cwd: bytes
    environment: tuple[bytes, ...]
    umask: int
    env_changes: tuple[bytes, ...] = ()
    stdin_file: bytes | None = None
    merge_output: bool = False
    leave_children: bool = False
    nice: int = 0
    policy: Policy = Policy()
    run_timeout: int | None = None
    job_timeout: int | None = None
    stop_grace: int = 10_000_000
    max_crashes: int | None = 0
    wait_mode: str = "all"
    wait_poll: int = 1_000_000
    probe_timeout: int = 10_000_000
    wait_abort_at: int | None = None
    note: str | None = None


class WantedCondition(NamedTuple):
    """A wait condition as asked for: `argument` is a path or NUL-joined arguments; `time` is microseconds.

    `time` is a delay for `delay` and a wall time for `until`.
    """

    kind: str
    argument: bytes = b""
    time: int = 0


class WantedEdge(NamedTuple):
    """A dependency as asked for: `selector` is an id, a name, or `@ref`; `outcomes` satisfy it."""

    selector: str
    outcomes: tuple[str, ...]


class Submission(NamedTuple):
    """One job to be stored: its specification, its place in line and what it waits for.

    `queue` is empty for a supervised job. `delay` (elapsed microseconds) and `at` (wall) exclude each other.
    `origin` is the line of the file that it came from, as FILE:LINE, '' if it came from the command line;
    `ref` is how other lines call it. The jobs of an array follow each other, each with its `array_index` and
    `array_size`; the first one's `at_once` says how many may run together. With `index_by_index` a dependency
    on an array is one on its job with the same index.
    """

    spec: Spec
    name: str | None = None
    queue: str = ""
    pool: str = ""
    slots: int = 1
    priority: int = 0
    delay: int = 0
    at: int | None = None
    key: str | None = None
    tags: tuple[tuple[str, str | None], ...] = ()
    edges: tuple[WantedEdge, ...] = ()
    index_by_index: bool = False
    conditions: tuple[WantedCondition, ...] = ()
    array_index: int | None = None
    array_size: int = 0
    at_once: int | None = None
    ref: str | None = None
    origin: str = ""


def intersect(
    selectors: dict[int, list[tuple[str, ...]]], called: Callable[[int], str]
) -> dict[int, tuple[str, ...]]:
    """Join the edges to each parent into one; an empty intersection is a contradiction.

    Raises InturnError `contradiction` naming the job that no outcome could satisfy, as `called` says.
    """
    joined: dict[int, tuple[str, ...]] = {}
    for parent, wanted in selectors.items():
        common = [outcome for outcome in wanted[0] if all(outcome in other for other in wanted[1:])]
        if not common:
            raise InturnError(
                "contradiction",
                f"the dependencies on {called(parent)} contradict each other: no outcome satisfies them all",
                "name each job under one --after-… option, or list the outcomes with --after-outcome",
            )
        joined[parent] = tuple(common)
    return joined

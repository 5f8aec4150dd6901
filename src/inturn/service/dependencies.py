"""From what a submission wants to wait for to edges between jobs, inside the transaction that stores it."""

from __future__ import annotations

from inturn.core.graph import find_cycle
from inturn.core.job import Condition
from inturn.core.moment import NO_DEADLINE, Deadline, after
from inturn.core.spec import intersect
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from types import TracebackType
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.core.spec import Submission, WantedCondition
    from inturn.service.context import Context

    # By ref: the ids of its jobs, by their index in the array; None for a job that is in none.
    Members = dict[str, dict[int | None, int]]
    # By selector and index: the ids of the jobs that are meant.
    Resolved = dict[tuple[str, int | None], list[int]]
else:
    from inturn.core.records import NamedTuple

# One submission makes at most so many edges: a bound on its memory, and on how long it holds the write lock,
# for which others wait no longer than half a minute.
MOST_EDGES = 200_000


class Gates(NamedTuple):
    """What is to be stored for jobs to wait for; each edge is a job, the one it waits for, and outcomes."""

    edges: list[tuple[int, int, tuple[str, ...]]]
    conditions: list[Condition]


class naming_line:  # noqa: N801 - used like a function
    """Errors raised inside name the line of the file that the submission came from, if it came from one."""

    def __init__(self, submission: Submission) -> None:
        self._origin = submission.origin

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._origin and isinstance(error, InturnError):
            raise InturnError(error.code, f"{self._origin}: {error.message}", error.hint) from error


def check_references(submissions: Sequence[Submission]) -> None:
    """Refuse an `@ref` that no line defines, one that two define, and a cycle; needs no store.

    Raises InturnError `unknown_reference`, `usage` or `cycle`, naming the lines.
    """
    lines: dict[str, str] = {}
    for submission in submissions:
        ref = submission.ref
        if ref is not None and lines.setdefault(ref, submission.origin) != submission.origin:
            with naming_line(submission):
                raise InturnError(
                    "usage", f"the ref {ref!r} is that of {lines[ref]}", "Give each line a ref of its own."
                )
    waits_for: dict[str, list[str]] = {}
    for submission in submissions:
        if not submission.edges:
            continue
        names = _references(submission)
        for name in names:
            if name not in lines:
                with naming_line(submission):
                    raise InturnError(
                        "unknown_reference", f"no line has the ref {name!r}", f'Write "ref": "{name}" in one.'
                    )
        if submission.ref is not None:
            waits_for.setdefault(submission.ref, []).extend(names)
    cycle = find_cycle(waits_for)
    if cycle is not None:
        path = " -> ".join(f"{name} ({lines[name]})" for name in cycle)
        raise InturnError(
            "cycle", f"dependencies lead back to where they came from: {path}", "Break the circle."
        )


def _references(submission: Submission) -> list[str]:
    return [edge.selector[1:] for edge in submission.edges if edge.selector.startswith("@")]


def resolve(context: Context, submissions: Sequence[Submission]) -> Resolved:
    """The jobs that the selectors of these submissions mean, `@ref` apart: before they are stored themselves.

    Raises InturnError not_found or ambiguous.
    """
    found: Resolved = {}
    for submission in submissions:
        for edge in submission.edges:
            meant = _meant(edge.selector, submission)
            if not edge.selector.startswith("@") and meant not in found:
                with naming_line(submission):
                    found[meant] = _members(context, *meant)
    return found


def _meant(selector: str, submission: Submission) -> tuple[str, int | None]:
    """A selector, and the index of the array's job that is meant; None for all of it, or for what is none."""
    return selector, submission.array_index if submission.index_by_index else None


def _members(context: Context, selector: str, index: int | None) -> list[int]:
    from inturn.service import select  # most jobs depend on none

    if index is not None:
        return [select.resolve_index(context, selector, index)]
    return select.resolve_members(context, selector)


def gates_of(
    waiting: Iterable[tuple[Submission, int]],
    batch: Iterable[tuple[Submission, int]],
    resolved: Resolved,
    now: Now,
) -> Gates:
    """The edges and wait conditions of those that are `waiting`, with their ids.

    `batch` is all that is submitted together, twins with the ids that stand for theirs. Raises InturnError
    not_found, contradiction, or invalid_value for more edges than MOST_EDGES.
    """
    members: Members = {}
    for submission, job_id in batch:
        if submission.ref is not None:
            members.setdefault(submission.ref, {})[submission.array_index] = job_id
    found = Gates([], [])
    for submission, job_id in waiting:
        if submission.edges:
            with naming_line(submission):
                found.edges.extend(_edges(job_id, submission, resolved, members))
                if len(found.edges) > MOST_EDGES:
                    raise _too_many_edges()
        for position, wanted in enumerate(submission.conditions):
            found.conditions.append(_condition(job_id, position, wanted, now))
    return found


def gates_ahead(submissions: Sequence[Submission], waiting: Sequence[int], now: Now) -> Gates | None:
    """The same before the jobs have ids, by their positions; None if that has to be left until they have.

    It has if a dependency is one on a job of the store, and if something is wrong: the error names ids.
    """
    if any(not edge.selector.startswith("@") for at in waiting for edge in submissions[at].edges):
        return None
    batch = ((submission, at) for at, submission in enumerate(submissions)) if waiting else ()
    try:
        return gates_of(((submissions[at], at) for at in waiting), batch, {}, now)
    except InturnError:
        return None


def _too_many_edges() -> InturnError:
    return InturnError(
        "invalid_value",
        f"there would be more than {MOST_EDGES} dependencies: each job on each job of an array",
        "With --each they go index by index; or let all depend on one job that depends on the array.",
    )


def _edges(
    job_id: int, submission: Submission, resolved: Resolved, members: Members
) -> list[tuple[int, int, tuple[str, ...]]]:
    wanted: dict[int, list[tuple[str, ...]]] = {}
    for edge in submission.edges:
        meant = _meant(edge.selector, submission)
        parents = resolved[meant] if meant in resolved else _in_batch(*meant, members)
        for parent in parents:
            wanted.setdefault(parent, []).append(edge.outcomes)
    joined = intersect(wanted, lambda parent: _called(parent, submission, members))
    return [(job_id, parent, outcomes) for parent, outcomes in joined.items()]


def _called(parent: int, submission: Submission, members: Members) -> str:
    """How messages call a job: one that comes along by its ref, for the id that it would have is none yet."""
    for name in _references(submission):
        if parent in members[name].values():
            return f"@{name}"
    return f"job {parent}"


def _in_batch(ref: str, index: int | None, members: Members) -> Collection[int]:
    """The jobs that an `@ref` means: the one, all of an array, or that of the same index."""
    found = members[ref[1:]]
    if index is None:
        return found.values()
    if index not in found:
        raise InturnError("not_found", f"{ref} has no job with index {index}", "Give both the same --array.")
    return [found[index]]


def _condition(job_id: int, position: int, wanted: WantedCondition, now: Now) -> Condition:
    due = NO_DEADLINE
    if wanted.kind == "delay":
        due = after(now, wanted.time)
    elif wanted.kind == "until":
        due = Deadline(wanted.time)
    return Condition(job_id, position, wanted.kind, wanted.argument, due)

"""From what a submission wants to wait for to edges between jobs, inside the transaction that stores it."""

from __future__ import annotations

from inturn.core.graph import find_cycle
from inturn.core.job import Condition
from inturn.core.moment import NO_DEADLINE, Deadline, after
from inturn.core.spec import intersect
from inturn.errors import InturnError
from inturn.service import select
from inturn.store import gates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from inturn.core.moment import Now
    from inturn.core.spec import Submission, WantedCondition
    from inturn.service.context import Context

    # By ref: the ids of its jobs, by their index in the array; None for a job that is in none.
    Members = dict[str, dict[int | None, int]]


class naming_line:  # noqa: N801 - used like a function
    """Errors raised inside name the line of the file that the submission came from, if it came from one."""

    def __init__(self, submission: Submission) -> None:
        self._line = submission.line

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._line and isinstance(error, InturnError):
            raise InturnError(error.code, f"line {self._line}: {error.message}", error.hint) from error


def check_references(submissions: Sequence[Submission]) -> None:
    """Refuse an `@ref` that no line defines, one that two define, and a cycle; needs no store.

    Raises InturnError `unknown_reference`, `conflict` or `cycle`, naming the lines.
    """
    lines: dict[str, int] = {}
    for submission in submissions:
        ref = submission.ref
        if ref is not None and lines.setdefault(ref, submission.line) != submission.line:
            raise InturnError(
                "usage",
                f"line {submission.line}: ref {ref!r} is that of line {lines[ref]}",
                "Give each line a ref of its own.",
            )
    waits_for: dict[str, list[str]] = {}
    for submission in submissions:
        for name in _references(submission):
            if name not in lines:
                with naming_line(submission):
                    raise InturnError(
                        "unknown_reference", f"no line has the ref {name!r}", f'Write "ref": "{name}" in one.'
                    )
        if submission.ref is not None:
            waits_for.setdefault(submission.ref, []).extend(_references(submission))
    cycle = find_cycle(waits_for)
    if cycle is not None:
        path = " -> ".join(f"{name} (line {lines[name]})" for name in cycle)
        raise InturnError(
            "cycle", f"dependencies lead back to where they came from: {path}", "Break the circle."
        )


def _references(submission: Submission) -> list[str]:
    return [edge.selector[1:] for edge in submission.edges if edge.selector.startswith("@")]


def store_gates(context: Context, submissions: Sequence[Submission], stored: Sequence[int], now: Now) -> None:
    """Store the edges and wait conditions of jobs that have just been stored under the ids `stored`.

    Raises InturnError not_found, ambiguous or contradiction.
    """
    store = context.store
    assert store is not None
    members: Members = {}
    for submission, job_id in zip(submissions, stored, strict=True):
        if submission.ref is not None:
            members.setdefault(submission.ref, {})[submission.array_index] = job_id
    for submission, job_id in zip(submissions, stored, strict=True):
        if submission.edges or submission.conditions:
            with naming_line(submission):
                edges = _edges(context, submission, members)
            conditions = [_condition(at, one, now) for at, one in enumerate(submission.conditions)]
            gates.insert(store, job_id, edges, conditions)


def _edges(context: Context, submission: Submission, members: Members) -> dict[int, tuple[str, ...]]:
    wanted: dict[int, list[tuple[str, ...]]] = {}
    for edge in submission.edges:
        for parent in _parents(context, edge.selector, submission, members):
            wanted.setdefault(parent, []).append(edge.outcomes)
    return intersect(wanted)


def _parents(context: Context, selector: str, submission: Submission, members: Members) -> list[int]:
    """The jobs that a dependency means: one, or all of an array, or that of the same index."""
    index = submission.array_index
    if not selector.startswith("@"):
        if submission.index_by_index and index is not None:
            return [select.resolve_index(context, selector, index)]
        return select.resolve_members(context, selector)
    found = members[selector[1:]]
    if not submission.index_by_index:
        return list(found.values())
    if index not in found:
        raise InturnError(
            "not_found", f"{selector} has no job with index {index}", "Give both the same --array."
        )
    return [found[index]]


def _condition(position: int, wanted: WantedCondition, now: Now) -> Condition:
    due = NO_DEADLINE
    if wanted.kind == "delay":
        due = after(now, wanted.time)
    elif wanted.kind == "until":
        due = Deadline(wanted.time)
    return Condition(0, position, wanted.kind, wanted.argument, due)

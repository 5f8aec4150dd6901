"""Doing a job again: another round of it, or a new job like it."""

from __future__ import annotations

from inturn.core.decide import conditions_met_at
from inturn.core.spec import Submission, WantedCondition, WantedEdge
from inturn.core.transitions import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inturn.core.job import Condition, Edge, Job
    from inturn.core.moment import Now
    from inturn.core.spec import Spec
    from inturn.core.views import View


def why_not(job: Job, spec: Spec, now: Now) -> str:
    """Why a job cannot have another round, as a sentence about it; empty if it can."""
    if job.phase != "completed":
        return "it has not ended"
    if spec.wait_abort_at is not None and now.wall >= spec.wait_abort_at:
        return "it must have started by a time that has passed (--wait-abort-at); see inturn rerun"
    return ""


def revival(edges: Sequence[Edge], conditions: Sequence[Condition], spec: Spec, owner: int | None) -> Event:
    """The event that gives an ended job another round, in the hands of `owner` if it is supervised.

    Dependencies are judged anew. Of the wait conditions those that were satisfied stay so.
    """
    gated = bool(edges) or conditions_met_at(conditions, spec.wait_mode) is None
    return Event("revived", "waiting" if gated else "queued", "requested", owner=owner)


def held_up_by(edge: Edge, dependent: Job) -> bool:
    """Whether a job never ran in its last round because the parent of `edge` did not end as it had to."""
    aborted = dependent.outcome == "aborted" and dependent.reason == "dependency_unsatisfied"
    return aborted and edge.judged and not edge.satisfied


def repetition(view: View, spec: Spec, parents: Mapping[int, Job] | None) -> Submission:
    """A submission that asks for the same once more, at once.

    `parents` are the jobs that it depends on; without them the new job waits for nothing: neither jobs nor
    conditions, and it need not have started by a certain time. It has no key: that one may be taken.
    """
    job = view.job
    wanted = Submission(
        spec=spec if parents is not None else spec._replace(wait_abort_at=None),
        name=job.name,
        queue=job.queue,
        pool=job.pool,
        slots=job.slots,
        priority=job.priority,
        tags=view.tags,
        array_index=job.array_index,
    )
    if parents is None:
        return wanted
    return wanted._replace(
        edges=tuple(WantedEdge(_selector(parents[edge.parent_id]), edge.outcomes) for edge in view.edges),
        conditions=tuple(_wanted(condition, job) for condition in view.conditions),
    )


def _selector(parent: Job) -> str:
    """What means this job alone: the id of an array's first job means the whole array."""
    if parent.id != parent.array_id:
        return str(parent.id)
    return f"{parent.array_id}_{parent.array_index}"


def _wanted(condition: Condition, job: Job) -> WantedCondition:
    time = condition.due.wall
    if condition.kind == "delay":
        time -= job.submitted_at
    return WantedCondition(condition.kind, condition.argument, time)

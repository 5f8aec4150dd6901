"""Why a job is where it is: pure, from what was read, to reasons that say what would change it.

Reasons form a tree: below a dependency that is not done stands why that job is not done, down to the root.
"""

from __future__ import annotations

from inturn.core import explain_end, explain_gates, explain_line, explain_run
from inturn.core.explain_gates import when
from inturn.core.job import ACTIVE, OUTCOMES
from inturn.core.phrases import instant, label, rough
from inturn.core.reasons import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NamedTuple

    from inturn.core.explain_line import Place
    from inturn.core.job import Condition, Edge, Job, Run
    from inturn.core.moment import Now
    from inturn.core.reasons import Agent
    from inturn.core.spec import Spec
else:
    from inturn.core.records import NamedTuple

# How far dependencies are followed. Beyond it, `why` of the last job shown goes on.
DEEPEST = 20

# So many of the dependencies of one job are told.
NAMED = 5

# In these something is to be done by the owner, be it to see that the run has ended.
_NEEDS_A_HAND = ("starting", "running", "stopping")

# What nobody does when the owner is dead.
_NEEDS_AN_OWNER = ("about_to_start", "gates_open")


class Facts(NamedTuple):
    """What is known of one job. `last_run` is its newest run; `place` is there if it is in line.

    `workers` is as in Place, also for a job that is not in line.
    """

    job: Job
    spec: Spec
    edges: tuple[Edge, ...] = ()
    conditions: tuple[Condition, ...] = ()
    last_run: Run | None = None
    agent: Agent | None = None
    place: Place | None = None
    workers: str = ""


def explain(job_id: int, known: Mapping[int, Facts], now: Now) -> tuple[Reason, ...]:
    """Why the job is where it is, the weightiest reason first.

    `known` holds the facts of the job, and of the jobs that it waits for as far as they were read. A job that
    has ended is told how and why.
    """
    teller = _Teller(known, now)
    facts = known[job_id]
    return (*teller.job(job_id, 0), *_deadlines(facts.job, facts.spec, facts.last_run, now))


def follow(facts: Facts) -> Iterator[int]:
    """The jobs whose own facts are needed to explain this one."""
    job = facts.job
    ended_by_another = job.reason in ("dependency_unsatisfied", "wait_deadline")
    if job.phase == "waiting" or (job.phase == "completed" and ended_by_another):
        for edge in _open_edges(facts)[:NAMED]:
            yield edge.parent_id


def _open_edges(facts: Facts) -> list[Edge]:
    """The dependencies that are in the way: first what ended otherwise than it had to, then what goes on."""
    found = [edge for edge in facts.edges if not (edge.judged and edge.satisfied)]
    return sorted(found, key=lambda edge: (not edge.judged, edge.parent_phase != "completed"))


class _Teller:
    """Tells each job once, however many others wait for it."""

    def __init__(self, known: Mapping[int, Facts], now: Now) -> None:
        self._known = known
        self._now = now
        self._told: set[int] = set()

    def job(self, job_id: int, depth: int) -> tuple[Reason, ...]:
        facts = self._known.get(job_id)
        if facts is None or job_id in self._told or depth > DEEPEST:
            return ()
        self._told.add(job_id)
        job = facts.job
        if job.phase == "completed":
            return (self._ended(facts, depth),)
        reasons = self._live(facts, depth)
        if facts.agent is not None and facts.agent.life == "dead":
            reasons = tuple(reason for reason in reasons if reason.code not in _NEEDS_AN_OWNER)
        return (*_owner(facts), *reasons)

    def _live(self, facts: Facts, depth: int) -> tuple[Reason, ...]:
        reasons = self._standing(facts, depth)
        if facts.workers == "none" and facts.place is None and facts.job.phase in ("waiting", "queued"):
            reasons += (explain_line.no_worker(facts.job),)
        return reasons

    def _standing(self, facts: Facts, depth: int) -> tuple[Reason, ...]:
        job = facts.job
        if job.phase == "waiting":
            return self._gates(facts, depth) or (
                Reason("gates_open", "what it waited for is there, and it is about to stand in line"),
            )
        if job.phase == "queued":
            return _queued(facts, self._now)
        if job.phase == "submitting":
            return (Reason("submitting", "its supervisor is taking it over"),)
        if job.phase == "paused":
            return (_paused(job),)
        return (explain_run.active(job, facts.last_run, self._now),)

    def _gates(self, facts: Facts, depth: int) -> tuple[Reason, ...]:
        job = facts.job
        reasons = self._dependencies(facts, _open_edges(facts), depth)
        reasons += explain_gates.conditions(job, facts.spec, facts.conditions, self._now)
        if job.phase == "waiting" and not job.due.reached(self._now):
            reasons.append(explain_gates.delay(job, self._now))
        return tuple(reasons)

    def _dependencies(self, facts: Facts, edges: Sequence[Edge], depth: int) -> list[Reason]:
        reasons = [self._dependency(edge, depth) for edge in edges[:NAMED]]
        if len(edges) > NAMED:
            message = f"{len(edges) - NAMED} more jobs have to end as well"
            if facts.job.phase == "completed":
                message = f"{len(edges) - NAMED} more jobs did not end as they had to"
            reasons.append(Reason("dependencies", message, f"inturn show {facts.job.id}", facts.job.id))
        return reasons

    def _dependency(self, edge: Edge, depth: int) -> Reason:
        parent = edge.parent_id
        who = label(parent, edge.parent_name)
        wanted = _wanted(edge.outcomes)
        because = self.job(parent, depth + 1)
        fix = "" if because else f"inturn why {parent}"
        if edge.judged:
            message = f"{who} ended as {edge.observed_outcome}, and had to end with {wanted}"
            return Reason("dependency_unsatisfied", message, fix, parent, because)
        if edge.parent_phase != "completed":
            known = self._known.get(parent)
            status = edge.parent_phase if known is None else known.job.status
            message = f"{who} has to end with {wanted}; it is {status}"
            return Reason("dependency", message, fix, parent, because)
        message = f"{who} has ended as {edge.parent_outcome}, and this is about to be noted"
        if edge.parent_outcome not in edge.outcomes:
            message += f"; it had to end with {wanted}, so that this job will be aborted"
        return Reason("dependency_ended", message, fix, parent, because)

    def _ended(self, facts: Facts, depth: int) -> Reason:
        job = facts.job
        because: tuple[Reason, ...] = ()
        if job.reason == "dependency_unsatisfied":
            guilty = [edge for edge in _open_edges(facts) if edge.judged]
            because = tuple(self._dependencies(facts, guilty, depth))
        elif job.reason == "wait_deadline":
            because = self._gates(facts, depth)
        elif facts.last_run is not None and job.attempts:
            because = (explain_run.ended(facts.last_run),)
        message = explain_end.message(job, facts.spec, self._now)
        return Reason("ended", message, explain_end.again(job, depth > 0), job.id, because)


def _owner(facts: Facts) -> Iterator[Reason]:
    agent = facts.agent
    if agent is None:
        return
    if agent.life == "alive":
        if agent.stopped and facts.job.phase in _NEEDS_A_HAND:
            message = f"its owner, process {agent.pid}, is stopped: nobody acts for the job"
            yield Reason("owner_stopped", message, f"kill -CONT {agent.pid}", facts.job.id)
        return
    who = f"its {agent.kind} (process {agent.pid})"
    if agent.life == "dead":
        message = f"{who} is dead: nobody acts for the job"
        yield Reason("owner_dead", message, "inturn recover", facts.job.id)
    else:
        yield Reason("owner_unknown", f"whether {who} is alive cannot be told from here", "", facts.job.id)


def _paused(job: Job) -> Reason:
    what = {
        "waiting": "it is paused: what it waits for is not looked at",
        "queued": "it is paused, and stands in no line",
    }
    message = what.get(
        job.held_phase or "", "it is paused: its processes are stopped, and it keeps its slots"
    )
    return Reason("paused", message, f"inturn resume {job.id}", job.id)


def _queued(facts: Facts, now: Now) -> tuple[Reason, ...]:
    job = facts.job
    put_off = explain_run.put_off(facts.last_run)
    if facts.place is not None:
        return (*explain_line.reasons(job, facts.place, now), *put_off)
    if not (job.attempts or put_off):
        return (explain_gates.delay(job, now),)
    message = f"its next run is due {when(job.due, now)}"
    because = put_off
    if not because and facts.last_run is not None:
        because = (explain_run.ended(facts.last_run),)
    return (Reason("backoff", message, f"inturn edit {job.id} --after 0s", job.id, because),)


def _deadlines(job: Job, spec: Spec, run: Run | None, now: Now) -> Iterator[Reason]:
    """What ends the job, or its run, if nothing else does."""
    if job.phase in ("completed", "stopping"):
        return
    if job.phase not in ACTIVE and not job.attempts and spec.wait_abort_at is not None:
        yield Reason("deadline", f"if it has not started by {_at(spec.wait_abort_at, now)}, it is aborted")
    if job.phase not in ACTIVE and job.attempts and spec.policy.abort_at is not None:
        yield Reason("deadline", f"no further run starts after {_at(spec.policy.abort_at, now)}")
    if job.phase == "running" and run is not None and spec.run_timeout is not None:
        left = rough(spec.run_timeout - run.watch.elapsed(now))
        yield Reason("deadline", f"its run may take {left} more (--run-timeout)")
    if spec.job_timeout is not None and job.phase != "paused":
        left = rough(spec.job_timeout - job.watch.elapsed(now))
        yield Reason("deadline", f"the job may take {left} more in all (--job-timeout)")


def _at(wall: int, now: Now) -> str:
    return f"{instant(wall)} (in {rough(wall - now.wall)})"


def _wanted(outcomes: tuple[str, ...]) -> str:
    if set(outcomes) == set(OUTCOMES):
        return "any outcome"
    *most, last = outcomes
    return f"{', '.join(most)} or {last}" if most else last

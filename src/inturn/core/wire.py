"""The JSON of jobs, runs, gates, events and capacities. Keys are only ever added.

Times are RFC 3339 in UTC, durations are seconds, limits are null when unlimited. Arguments, paths and
variables need not be UTF-8: what is not is shown with U+FFFD, and a key that ends in `_base64` has the bytes.
"""

from __future__ import annotations

from inturn.core.job import ACTIVE, OUTCOMES
from inturn.core.transitions import holds_slots
from inturn.core.wire_spec import spec
from inturn.core.wire_values import raw, seconds, timestamp, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inturn.core.job import Condition, Edge, Run
    from inturn.core.reasons import Reason
    from inturn.core.views import Dossier, Holder, Keeper, LedgerEntry, Scope, Totals, View
    from inturn.core.wire_values import Json


def job(view: View) -> Json:
    """A job as listings have it."""
    it = view.job
    return {
        "id": it.id,
        "name": it.name,
        "phase": it.phase,
        "held_phase": it.held_phase,
        "status": it.status,
        "outcome": it.outcome,
        "reason": it.reason,
        "stop_reason": it.stop_reason,
        "attempts": it.attempts,
        "round": it.round,
        "next_run_at": timestamp(it.due.wall),
        "priority": it.priority,
        "queue": it.queue or None,
        "pool": it.pool or None,
        "slots": it.slots,
        "bypass_count": it.bypass_count,
        "lease_expires_at": _lease(view),
        "owner": None if view.keeper is None else keeper(view.keeper),
        "submitted_at": timestamp(it.submitted_at),
        "started_at": timestamp(it.started_at),
        "completed_at": timestamp(it.completed_at),
        "array_id": it.array_id,
        "array_index": it.array_index,
        **words("argv", view.argv),
        "tags": dict(view.tags),
        "dependencies": [dependency(edge) for edge in view.edges],
        "conditions": [condition(each) for each in view.conditions],
        "runs": [run(each) for each in view.runs],
    }


def keeper(owner: Keeper) -> Json:
    """The process that answers for a job."""
    return {"kind": owner.kind, "pid": owner.pid, "since": timestamp(owner.registered_at), "id": owner.id}


def dependency(edge: Edge) -> Json:
    """An edge with its receipt, and what the other job looks like now."""
    return {
        "job_id": edge.parent_id,
        "name": edge.parent_name,
        "outcomes": list(edge.outcomes),
        "observed_outcome": edge.observed_outcome,
        "observed_revision": edge.observed_revision,
        "observed_at": timestamp(edge.observed_at),
        "satisfied": edge.satisfied if edge.judged else None,
        "phase": edge.parent_phase,
        "outcome": edge.parent_outcome,
    }


def dependent(edge: Edge) -> Json:
    """The same edge from the other end: a job that waits, or waited, for this one."""
    return {
        "job_id": edge.job_id,
        "outcomes": list(edge.outcomes),
        "observed_outcome": edge.observed_outcome,
        "observed_at": timestamp(edge.observed_at),
        "satisfied": edge.satisfied if edge.judged else None,
    }


def condition(it: Condition) -> Json:
    """A wait condition with what was last observed."""
    document: Json = {
        "kind": it.kind,
        "satisfied": it.satisfied_at is not None,
        "satisfied_at": timestamp(it.satisfied_at),
        "observed_at": timestamp(it.observed_at),
        "diagnostic": it.diagnostic,
    }
    if it.kind == "file":
        return document | raw("path", it.argument)
    if it.kind == "probe":
        return document | words("argv", it.argument.split(b"\0"))
    return document | {"due_at": timestamp(it.due.wall)}


def run(it: Run) -> Json:
    """One invocation of a job's command."""
    return {
        "number": it.number,
        "attempt": it.attempt,
        "round": it.round,
        "outcome": it.outcome,
        "exit_code": it.exit_code,
        "signal": it.signal,
        "failure": it.failure,
        "diagnostic": it.diagnostic,
        "admitted_at": timestamp(it.admitted_at),
        "started_at": timestamp(it.started_at),
        "finished_at": timestamp(it.finished_at),
        "user_time": seconds(it.user_us),
        "system_time": seconds(it.system_us),
        "max_rss": it.max_rss,
        "devices": _devices(it.devices),
        "log": it.log,
        "log_incomplete": bool(it.log_incomplete),
    }


def reason(it: Reason) -> Json:
    """Why a job is where it is; `because` says why that is so."""
    return {
        "code": it.code,
        "message": it.message,
        "fix": it.fix or None,
        "job_id": it.job_id,
        "because": [reason(each) for each in it.because],
    }


def dossier(it: Dossier, values: bool) -> Json:
    """A job with everything about it. The values of environment variables only with `values`."""
    document = job(it.view)
    if it.agent is not None:
        document["owner"]["life"] = it.agent.life
    return {
        **document,
        "key": it.key,
        "admission": None if it.holder is None else admission(it.holder, it.view),
        "dependents": [dependent(edge) for edge in it.dependents],
        "reasons": [reason(each) for each in it.reasons],
        "spec": spec(it.spec, values),
        "events": [event(entry) for entry in it.entries],
    }


def event(entry: LedgerEntry) -> Json:
    """One entry of the ledger."""
    return {
        "id": entry.id,
        "job": entry.job_id,
        "at": timestamp(entry.at),
        "from": entry.source,
        "to": entry.target,
        "kind": entry.kind,
        "reason": entry.reason,
        "run": entry.run,
    }


def admission(holder: Holder, view: View) -> Json:
    """The slots that a job holds."""
    return {
        "run": holder.run,
        "slots": holder.slots,
        "pool": holder.pool or None,
        "queue": holder.queue or None,
        "devices": _devices(holder.devices),
        "granted_at": timestamp(holder.granted_at),
        "lease_expires_at": _lease(view),
    }


def scope(it: Scope) -> Json:
    """A pool, or the store-wide limit, and who uses it; `held`: it is paused, and admits nothing."""
    return {
        "name": it.name or None,
        "slots": it.slots,
        "used": it.used,
        "free": it.free,
        "in_line": it.in_line,
        "held": it.paused,
        "declared": it.declared,
        "devices": list(it.devices),
        "holders": [
            {
                "job_id": holder.job_id,
                "name": holder.name,
                "slots": holder.slots,
                "devices": _devices(holder.devices) if it.name else [],
                "since": timestamp(holder.granted_at),
            }
            for holder in it.holders
        ],
    }


def scopes(found: Iterable[Scope]) -> Json:
    """All capacities: the store-wide one apart from the pools."""
    store, *pools = found
    return {"store": scope(store), "pools": [scope(pool) for pool in pools]}


def totals(found: Totals) -> Json:
    """How many jobs are where, in all, by queue and by pool.

    A queue or pool is `held` if it is paused as a whole; `paused` counts jobs.
    """
    store, *pools = found.scopes
    return {
        **counts(found.by_status()),
        "slots": store.slots,
        "used": store.used,
        "queues": [
            {"name": queue, "held": queue in found.paused, **counts(found.by_status(queue=queue))}
            for queue in found.queues
        ],
        "pools": [
            {
                "name": pool.name,
                "slots": pool.slots,
                "used": pool.used,
                "free": pool.free,
                "held": pool.paused,
                **counts(found.by_status(pool=pool.name)),
            }
            for pool in pools
        ],
    }


def counts(by_status: Mapping[str, int]) -> Json:
    """Jobs by what a person asks for: `queued` includes the `scheduled`, and those the ones in `backoff`."""

    def of(*statuses: str) -> int:
        return sum(by_status.get(status, 0) for status in statuses)

    return {
        "queued": of("queued", "scheduled", "backoff"),
        "scheduled": of("scheduled", "backoff"),
        "backoff": of("backoff"),
        "submitting": of("submitting"),
        "waiting": of("waiting"),
        "running": of(*ACTIVE),
        "starting": of("starting"),
        "stopping": of("stopping"),
        "paused": of("paused"),
        **{outcome: of(outcome) for outcome in OUTCOMES},
    }


def _devices(joined: str) -> list[str]:
    return joined.split(",") if joined else []


def _lease(view: View) -> str | None:
    """When the promise of the owner ends; only who holds slots makes one."""
    if view.keeper is None or not view.keeper.lease_wall or not holds_slots(view.job):
        return None
    return timestamp(view.keeper.lease_wall)

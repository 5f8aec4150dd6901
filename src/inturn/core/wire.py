"""The JSON of jobs, runs, gates, events and capacities. Keys are only ever added.

Times are RFC 3339 in UTC, durations are seconds, limits are null when unlimited. Arguments, paths and
variables need not be UTF-8: what is not is shown with U+FFFD, and a key with `_base64` at its end has the bytes.
"""

from __future__ import annotations

from binascii import b2a_base64

from inturn.core.duration import format_time_utc
from inturn.core.job import ACTIVE, OUTCOMES
from inturn.core.moment import SECOND
from inturn.core.spec import effective_environment
from inturn.core.transitions import holds_slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from inturn.core.job import Condition, Edge, Run
    from inturn.core.retry import Policy
    from inturn.core.spec import Spec
    from inturn.core.views import Holder, Keeper, LedgerEntry, Scope, Totals, View

    Json = dict[str, Any]


def text(value: bytes) -> str:
    """Bytes as text, with U+FFFD for what is not UTF-8."""
    return value.decode("utf-8", "replace")


def job(view: View) -> Json:
    """A job as listings have it."""
    it = view.job
    return {
        "id": it.id,
        "name": it.name,
        "phase": it.phase,
        "status": it.status,
        "outcome": it.outcome,
        "reason": it.reason,
        "stop_reason": it.stop_reason,
        "attempts": it.attempts,
        "round": it.round,
        "next_run_at": _time(it.due.wall),
        "priority": it.priority,
        "queue": it.queue or None,
        "pool": it.pool or None,
        "slots": it.slots,
        "bypass_count": it.bypass_count,
        "lease_expires_at": _lease(view),
        "owner": None if view.keeper is None else keeper(view.keeper),
        "submitted_at": _time(it.submitted_at),
        "started_at": _time(it.started_at),
        "completed_at": _time(it.completed_at),
        **_words("argv", view.argv),
        "tags": dict(view.tags),
        "dependencies": [dependency(edge) for edge in view.edges],
        "conditions": [condition(each) for each in view.conditions],
        "runs": [run(each) for each in view.runs],
    }


def keeper(owner: Keeper) -> Json:
    """The process that answers for a job."""
    return {"kind": owner.kind, "pid": owner.pid, "since": _time(owner.registered_at), "id": owner.id}


def dependency(edge: Edge) -> Json:
    """An edge with its receipt, and what the other job looks like now."""
    return {
        "job_id": edge.parent_id,
        "name": edge.parent_name,
        "outcomes": list(edge.outcomes),
        "observed_outcome": edge.observed_outcome,
        "observed_revision": edge.observed_revision,
        "observed_at": _time(edge.observed_at),
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
        "observed_at": _time(edge.observed_at),
        "satisfied": edge.satisfied if edge.judged else None,
    }


def condition(it: Condition) -> Json:
    """A wait condition with what was last observed."""
    document: Json = {
        "kind": it.kind,
        "satisfied": it.satisfied_at is not None,
        "satisfied_at": _time(it.satisfied_at),
        "observed_at": _time(it.observed_at),
        "diagnostic": it.diagnostic,
    }
    if it.kind == "file":
        return document | _bytes("path", it.argument)
    if it.kind == "probe":
        return document | _words("argv", it.argument.split(b"\0"))
    return document | {"due_at": _time(it.due.wall)}


def run(it: Run) -> Json:
    """One invocation of a job's command."""
    return {
        "number": it.number,
        "attempt": it.attempt,
        "round": it.round,
        "outcome": it.outcome,
        "exit_code": it.exit_code,
        "signal": it.signal,
        "diagnostic": it.diagnostic,
        "admitted_at": _time(it.admitted_at),
        "started_at": _time(it.started_at),
        "finished_at": _time(it.finished_at),
        "user_time": _seconds(it.user_us),
        "system_time": _seconds(it.system_us),
        "max_rss": it.max_rss,
        "log": it.log,
        "log_incomplete": bool(it.log_incomplete),
    }


def spec(it: Spec, values: bool) -> Json:
    """What the user asked for. The values of environment variables only with `values`."""
    environment = effective_environment(it)
    document: Json = {
        **_words("argv", it.argv),
        **_bytes("cwd", it.cwd),
        "umask": f"{it.umask:04o}",
        **({"stdin_file": None} if it.stdin_file is None else _bytes("stdin_file", it.stdin_file)),
        "environment": sorted(text(name) for name in environment),
        "env_set": [text(change.partition(b"=")[0]) for change in it.env_changes if b"=" in change],
        "env_unset": [text(change) for change in it.env_changes if b"=" not in change],
        "merge_output": it.merge_output,
        "leave_children": it.leave_children,
        "nice": it.nice,
        "run_timeout": _seconds(it.run_timeout),
        "job_timeout": _seconds(it.job_timeout),
        "stop_grace": _seconds(it.stop_grace),
        "max_crashes": it.max_crashes,
        "wait_mode": it.wait_mode,
        "wait_poll": _seconds(it.wait_poll),
        "probe_timeout": _seconds(it.probe_timeout),
        "wait_abort_at": _time(it.wait_abort_at),
        "note": it.note,
        "policy": policy(it.policy),
    }
    if values:
        document.update(_environment_values(environment))
    return document


def _environment_values(environment: Mapping[bytes, bytes]) -> Json:
    document: Json = {
        "environment_values": {text(name): text(value) for name, value in sorted(environment.items())}
    }
    odd = [b"=".join(entry) for entry in sorted(environment.items()) if not _is_text(b"=".join(entry))]
    if odd:
        document["environment_base64"] = [_base64(entry) for entry in odd]
    return document


def policy(it: Policy) -> Json:
    """When a run succeeds, and when another one follows."""
    return {
        "success_exit_codes": _ranges(it.success_codes),
        "retryable_exit_codes": _ranges(it.retry_codes),
        "retry_signals": _ranges(it.retry_signals),
        "retry_timeouts": it.retry_timeouts,
        "retry_start_failures": it.retry_start_failures,
        "success_target": it.success_target,
        "max_runs": it.run_limit,
        "failure_limit": it.failure_limit,
        "retry_delay": _seconds(it.delay),
        "retry_backoff": it.backoff,
        "retry_max_delay": _seconds(it.max_delay),
        "retry_jitter": _seconds(it.jitter),
        "retry_abort_at": _time(it.abort_at),
    }


def event(entry: LedgerEntry) -> Json:
    """One entry of the ledger."""
    return {
        "id": entry.id,
        "job": entry.job_id,
        "at": _time(entry.at),
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
        "granted_at": _time(holder.granted_at),
        "lease_expires_at": _lease(view),
    }


def scope(it: Scope) -> Json:
    """A pool, or the store-wide limit, and who uses it."""
    return {
        "name": it.name or None,
        "slots": it.slots,
        "used": it.used,
        "free": it.free,
        "in_line": it.in_line,
        "declared": it.declared,
        "holders": [
            {
                "job_id": holder.job_id,
                "name": holder.name,
                "slots": holder.slots,
                "since": _time(holder.granted_at),
            }
            for holder in it.holders
        ],
    }


def scopes(found: Iterable[Scope]) -> Json:
    """All capacities: the store-wide one apart from the pools."""
    store, *pools = found
    return {"store": scope(store), "pools": [scope(pool) for pool in pools]}


def totals(found: Totals) -> Json:
    """How many jobs are where, in all, by queue and by pool."""
    store, *pools = found.scopes
    return {
        **counts(found.by_status()),
        "slots": store.slots,
        "used": store.used,
        "queues": [{"name": queue, **counts(found.by_status(queue=queue))} for queue in found.queues],
        "pools": [
            {
                "name": pool.name,
                "slots": pool.slots,
                "used": pool.used,
                "free": pool.free,
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


def _lease(view: View) -> str | None:
    """When the promise of the owner ends; only who holds slots makes one."""
    if view.keeper is None or not view.keeper.lease_wall or not holds_slots(view.job):
        return None
    return _time(view.keeper.lease_wall)


def _time(wall: int | None) -> str | None:
    return None if wall is None else format_time_utc(wall)


def _seconds(us: int | None) -> int | float | None:
    if us is None:
        return None
    return us / SECOND if us % SECOND else us // SECOND


def _ranges(ranges: tuple[tuple[int, int], ...]) -> list[str]:
    return [str(low) if low == high else f"{low}-{high}" for low, high in ranges]


def _words(key: str, values: Iterable[bytes]) -> Json:
    values = list(values)
    document: Json = {key: [text(value) for value in values]}
    if not all(map(_is_text, values)):
        document[f"{key}_base64"] = [_base64(value) for value in values]
    return document


def _bytes(key: str, value: bytes) -> Json:
    return {key: text(value)} if _is_text(value) else {key: text(value), f"{key}_base64": _base64(value)}


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _base64(value: bytes) -> str:
    return b2a_base64(value, newline=False).decode("ascii")

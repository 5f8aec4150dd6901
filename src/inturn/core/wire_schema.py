"""What `inturn.core.wire` and its siblings write, as JSON Schema: one definition for each of their functions.

Words come from the tables that the program goes by. The tests hold real documents against these definitions,
which allow no other keys and demand all of them, so that neither can change without the other.
"""

from __future__ import annotations

from inturn.core.health import NOTE, OK, PROBLEM
from inturn.core.job import OUTCOMES, PHASES, RUN_OUTCOMES, STATUSES, STOP_REASONS
from inturn.core.retry import BACKOFFS
from inturn.core.roster import ALIVE, DEAD, UNSETTLED, UNVERIFIED
from inturn.core.schema import (
    BASE64,
    COUNT,
    FLAG,
    ID,
    NUMBER,
    SECONDS,
    TEXT,
    TIME,
    always,
    many,
    mapping,
    maybe,
    one_of,
    part,
    record,
    told,
)
from inturn.core.spec import CONDITION_KINDS
from inturn.core.transitions import TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.schema import Schema

PHASE, OUTCOME, STATUS = one_of(PHASES), one_of(OUTCOMES), one_of(STATUSES)
LIFE = one_of((ALIVE, DEAD, UNVERIFIED))
LIMIT = told("null is unlimited", maybe(COUNT))

_OWNER: dict[str, Schema] = {
    "kind": one_of(("supervisor", "worker", "foreground")),
    "pid": ID,
    "since": TIME,
    "id": ID,
}

_ARGV: dict[str, Schema] = {"argv": told("U+FFFD stands for what is not UTF-8", many(TEXT))}
_ARGV_BYTES: dict[str, Schema] = {"argv_base64": told("if an argument is not UTF-8", many(BASE64))}

_JOB: dict[str, Schema] = {
    "id": told("never used again", ID),
    "name": maybe(TEXT),
    "phase": PHASE,
    "held_phase": told("of a paused job: what it goes on as", maybe(PHASE)),
    "status": STATUS,
    "outcome": maybe(OUTCOME),
    "reason": told("why it ended like that", maybe(TEXT)),
    "stop_reason": told("why its run is being stopped", maybe(one_of(STOP_REASONS))),
    "attempts": told("runs started in this round", COUNT),
    "round": told("1, and one more with each retry", COUNT),
    "next_run_at": told("when it is or was eligible", TIME),
    "priority": NUMBER,
    "queue": told("null: it is supervised", maybe(TEXT)),
    "pool": maybe(TEXT),
    "slots": ID,
    "bypass_count": COUNT,
    "lease_expires_at": maybe(TIME),
    "owner": maybe(part("owner")),
    "submitted_at": TIME,
    "started_at": maybe(TIME),
    "completed_at": maybe(TIME),
    "array_id": told("the id of the first job of its array", maybe(ID)),
    "array_index": maybe(COUNT),
    **_ARGV,
    "tags": mapping(maybe(TEXT)),
    "dependencies": many(part("dependency")),
    "conditions": many(part("condition")),
    "runs": many(part("run")),
}

_DOSSIER: dict[str, Schema] = {
    **_JOB,
    "key": maybe(TEXT),
    "admission": maybe(part("admission")),
    "dependents": many(part("dependent")),
    "reasons": many(part("reason")),
    "spec": part("spec"),
    "events": many(part("event")),
}

_SPEC: dict[str, Schema] = {
    **_ARGV,
    "cwd": TEXT,
    "umask": {"type": "string", "pattern": "^[0-7]{4}$"},
    "stdin_file": maybe(TEXT),
    "environment": told("names; the values only on request", many(TEXT)),
    "env_set": many(TEXT),
    "env_unset": many(TEXT),
    "merge_output": FLAG,
    "leave_children": FLAG,
    "nice": NUMBER,
    "run_timeout": maybe(SECONDS),
    "job_timeout": maybe(SECONDS),
    "stop_grace": SECONDS,
    "max_crashes": LIMIT,
    "wait_mode": one_of(("all", "any")),
    "wait_poll": SECONDS,
    "probe_timeout": SECONDS,
    "wait_abort_at": maybe(TIME),
    "note": maybe(TEXT),
    "policy": part("policy"),
}

_SCOPE: dict[str, Schema] = {
    "name": told("null is the whole store", maybe(TEXT)),
    "slots": LIMIT,
    "used": COUNT,
    "free": LIMIT,
    "in_line": told("jobs that wait for it", COUNT),
    "held": told("it is paused and admits nothing", FLAG),
    "declared": told("by the configuration file", FLAG),
    "devices": many(TEXT),
    "holders": many(
        record({"job_id": ID, "name": maybe(TEXT), "slots": ID, "devices": many(TEXT), "since": TIME})
    ),
}

# Jobs by what a person asks for.
COUNTS: dict[str, Schema] = {
    "queued": told("scheduled ones included", COUNT),
    "scheduled": told("those in backoff included", COUNT),
    "backoff": COUNT,
    "submitting": COUNT,
    "waiting": COUNT,
    "running": told("those that start or are being stopped included", COUNT),
    "starting": COUNT,
    "stopping": COUNT,
    "paused": COUNT,
    **dict.fromkeys(OUTCOMES, COUNT),
}

DEFINITIONS: dict[str, Schema] = {
    "job": record(_JOB, _ARGV_BYTES),
    "owner": record(_OWNER, {"life": LIFE}),
    "dependency": record(
        {
            "job_id": ID,
            "name": maybe(TEXT),
            "outcomes": told("those that satisfy it", many(OUTCOME)),
            "observed_outcome": maybe(OUTCOME),
            "observed_revision": maybe(COUNT),
            "observed_at": maybe(TIME),
            "satisfied": told("null: not judged yet", maybe(FLAG)),
            "phase": told("of the other job, now", PHASE),
            "outcome": told("of the other job, now", maybe(OUTCOME)),
        }
    ),
    "dependent": record(
        {
            "job_id": ID,
            "outcomes": many(OUTCOME),
            "observed_outcome": maybe(OUTCOME),
            "observed_at": maybe(TIME),
            "satisfied": maybe(FLAG),
        }
    ),
    "condition": record(
        {
            "kind": one_of(CONDITION_KINDS),
            "satisfied": FLAG,
            "satisfied_at": maybe(TIME),
            "observed_at": maybe(TIME),
            "diagnostic": told("what was last seen", maybe(TEXT)),
        },
        {
            "path": told("of a file", TEXT),
            "path_base64": BASE64,
            "argv": told("of a probe", many(TEXT)),
            "argv_base64": many(BASE64),
            "due_at": told("of a time or a delay", TIME),
        },
    ),
    "run": record(
        {
            "number": told("within the job, never restarting", ID),
            "attempt": told("within the round", ID),
            "round": ID,
            "outcome": maybe(one_of(RUN_OUTCOMES)),
            "exit_code": maybe(COUNT),
            "signal": told("the number of the signal that ended it", maybe(ID)),
            "failure": told("why it could not be started", maybe(TEXT)),
            "diagnostic": maybe(TEXT),
            "admitted_at": TIME,
            "started_at": maybe(TIME),
            "finished_at": maybe(TIME),
            "user_time": maybe(SECONDS),
            "system_time": maybe(SECONDS),
            "max_rss": told("bytes", maybe(COUNT)),
            "devices": many(TEXT),
            "log": told("the stem of its log files, within the store", TEXT),
            "log_incomplete": told("the file system was full", FLAG),
        }
    ),
    "reason": record(
        {
            "code": told("stable for programs", TEXT),
            "message": TEXT,
            "fix": told("a command that shows more, or would change it", maybe(TEXT)),
            "job_id": maybe(ID),
            "because": many(part("reason")),
        }
    ),
    "dossier": record(_DOSSIER, _ARGV_BYTES),
    "event": record(
        {
            "id": ID,
            "job": ID,
            "at": TIME,
            "from": told("null: it was submitted", maybe(PHASE)),
            "to": PHASE,
            "kind": one_of(TABLE),
            "reason": maybe(TEXT),
            "run": maybe(ID),
        }
    ),
    "admission": record(
        {
            "run": ID,
            "slots": ID,
            "pool": maybe(TEXT),
            "queue": maybe(TEXT),
            "devices": many(TEXT),
            "granted_at": TIME,
            "lease_expires_at": maybe(TIME),
        }
    ),
    "scope": record(_SCOPE),
    "spec": record(
        _SPEC,
        {
            **_ARGV_BYTES,
            "cwd_base64": BASE64,
            "stdin_file_base64": BASE64,
            "environment_values": mapping(TEXT),
            "environment_base64": told("NAME=VALUE of what is not UTF-8", many(BASE64)),
        },
    ),
    "policy": record(
        {
            "success_exit_codes": many(TEXT),
            "retryable_exit_codes": many(TEXT),
            "retry_signals": many(TEXT),
            "retry_timeouts": FLAG,
            "retry_start_failures": FLAG,
            "success_target": LIMIT,
            "max_runs": LIMIT,
            "failure_limit": LIMIT,
            "retry_delay": SECONDS,
            "retry_backoff": one_of(BACKOFFS),
            "retry_max_delay": maybe(SECONDS),
            "retry_jitter": SECONDS,
            "retry_abort_at": maybe(TIME),
        }
    ),
    "member": record(
        {
            **_OWNER,
            "life": LIFE,
            "version": TEXT,
            "accepting": told("null: it is no worker", maybe(FLAG)),
            "queues": many(record({"name": TEXT, "ceiling": LIMIT})),
            "places": COUNT,
            "busy": COUNT,
            "lease_expires_at": maybe(TIME),
            "jobs": many(ID),
        }
    ),
    "line": record(
        {
            "name": TEXT,
            "held": told("it is paused as a whole", FLAG),
            **COUNTS,
            "active": told("jobs that hold slots", COUNT),
            "ceilings": many(ID),
            "workers": many(
                record({"id": ID, "pid": ID, "life": LIFE, "accepting": FLAG, "ceiling": LIMIT}),
            ),
            "settled": told("a draining worker would end", FLAG),
            "unsettled": maybe(one_of(UNSETTLED)),
            "unsettled_message": maybe(TEXT),
        }
    ),
    "finding": record(
        {
            "severity": one_of((OK, NOTE, PROBLEM)),
            "check": told("stable for programs", TEXT),
            "message": TEXT,
            "fix": maybe(TEXT),
        }
    ),
}


def totals() -> Schema:
    """How many jobs are where, in all, by queue and by pool."""
    pool = {"slots": LIMIT, "used": COUNT, "free": LIMIT, "held": FLAG}
    return record(
        {
            **COUNTS,
            "slots": LIMIT,
            "used": COUNT,
            "queues": many(record({"name": TEXT, "held": FLAG, **COUNTS})),
            "pools": many(record({"name": TEXT, **pool, **COUNTS})),
        }
    )


def scopes() -> Schema:
    """All capacities."""
    return record({"store": part("scope"), "pools": many(part("scope"))})


def planned(absent: tuple[str, ...]) -> Schema:
    """What a dry run tells of a job; what it cannot have yet is `absent`."""
    fields = {name: schema for name, schema in _DOSSIER.items() if name not in absent}
    return record({"would_submit": always(True), "would_start": FLAG, **fields}, _ARGV_BYTES)

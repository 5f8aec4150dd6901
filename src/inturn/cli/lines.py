"""Plain lines for pipes: columns separated by tabs, without a heading, `-` for what there is not.

The columns of each kind are documented and only ever added to. Times are RFC 3339 in UTC.
"""

from __future__ import annotations

from inturn.cli.text import printable
from inturn.core.duration import format_time_utc
from inturn.core.phrases import signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inturn.core.job import Run
    from inturn.core.reasons import Reason
    from inturn.core.roster import Line, Member
    from inturn.core.views import LedgerEntry, Scope, View

NOTHING = "-"

# What a shell takes as it is.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_-+=:,./")

JOB_COLUMNS = (
    *("id", "status", "name", "queue", "pool", "slots", "priority", "attempts", "exit"),
    *("submitted", "started", "completed", "command"),
)
EVENT_COLUMNS = ("id", "at", "job", "from", "to", "kind", "reason", "run")
REASON_COLUMNS = ("depth", "code", "message", "fix")
SCOPE_COLUMNS = ("name", "slots", "used", "free", "in_line", "holders", "paused", "devices")

MEMBER_COLUMNS = (
    *("id", "kind", "pid", "life", "accepting", "places", "busy", "queues", "jobs", "lease", "since"),
    "version",
)
LINE_COLUMNS = (
    *("name", "queued", "scheduled", "waiting", "running", "paused", "ceilings", "workers", "settled"),
    "unsettled",
)


def job(view: View) -> str:
    """One job, in the order of JOB_COLUMNS."""
    it = view.job
    return _line(
        it.id,
        it.status,
        it.name,
        it.queue,
        it.pool,
        it.slots,
        it.priority,
        it.attempts,
        how_it_ended(view.last_run),
        _time(it.submitted_at),
        _time(it.started_at),
        _time(it.completed_at),
        command(view.argv),
    )


def event(entry: LedgerEntry) -> str:
    """One entry of the ledger, in the order of EVENT_COLUMNS."""
    it = entry
    return _line(it.id, _time(it.at), it.job_id, it.source, it.target, it.kind, it.reason, it.run)


def reasons(found: Iterable[Reason], depth: int = 0) -> Iterator[str]:
    """Reasons and, right after each, why it is so; in the order of REASON_COLUMNS."""
    for reason in found:
        yield _line(depth, reason.code, reason.message, reason.fix)
        yield from reasons(reason.because, depth + 1)


def scope(it: Scope) -> str:
    """A capacity, in the order of SCOPE_COLUMNS; holders as `JOB:SLOTS`, joined by commas.

    Devices as `DEVICE`, or `DEVICE:JOB+JOB` for one that jobs have, joined by commas.
    """
    holders = ",".join(f"{holder.job_id}:{holder.slots}" for holder in it.holders)
    paused = yes_or_no(it.paused)
    devices = ",".join(_device(name, it) for name in it.devices)
    return _line(
        scope_name(it), limit(it.slots), it.used, limit(it.free), it.in_line, holders, paused, devices
    )


def _device(name: str, it: Scope) -> str:
    jobs = "+".join(str(holder.job_id) for holder in it.holders if name in holder.devices.split(","))
    return f"{name}:{jobs}" if jobs else name


def member(it: Member) -> str:
    """An owner, in the order of MEMBER_COLUMNS; queues as `NAME` or `NAME:CEILING`, joined by commas."""
    queues = (name if ceiling is None else f"{name}:{ceiling}" for name, ceiling in sorted(it.queues.items()))
    return _line(
        it.keeper.id,
        it.keeper.kind,
        it.keeper.pid,
        it.life,
        yes_or_no(it.accepting),
        it.places,
        it.busy,
        ",".join(queues),
        ",".join(map(str, it.jobs)),
        _time(it.keeper.lease_wall or None),
        _time(it.keeper.registered_at),
        it.version,
    )


def line(it: Line) -> str:
    """A queue, in the order of LINE_COLUMNS; `workers` are the ids of those that serve it and live."""
    from inturn.core import wire

    counts = wire.counts(it.counts)
    return _line(
        it.name,
        *(counts[column] for column in ("queued", "scheduled", "waiting", "running")),
        yes_or_no(it.paused),
        ",".join(map(str, it.ceilings)),
        ",".join(str(one.keeper.id) for one in it.serving),
        yes_or_no(not it.unsettled),
        it.unsettled,
    )


def yes_or_no(it: bool) -> str:
    """`true` or `false`, as in JSON."""
    return str(it).lower()


def document(fields: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """A JSON document as lines of key and value: `runs.0.exit_code`, or by name, `pools.analysis.used`."""
    for key, value in fields.items():
        yield from _value(prefix + key, value)


def _value(key: str, value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from document(value, key + ".")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _value(f"{key}.{place}", item)
    else:
        shown = str(value).lower() if isinstance(value, bool) else value
        yield _line(key, shown)


def scope_name(it: Scope) -> str:
    """How a capacity is called; no pool can be called like the store-wide one."""
    return it.name or "(store)"


def limit(slots: int | None) -> str:
    """A number of slots, or `unlimited`."""
    return "unlimited" if slots is None else str(slots)


def how_it_ended(run: Run | None) -> str | None:
    """The exit code of a run, or the name of the signal that ended it."""
    if run is None:
        return None
    if run.signal is not None:
        return signal_name(run.signal)
    return None if run.exit_code is None else str(run.exit_code)


def command(argv: Sequence[bytes]) -> str:
    """A command as a shell would take it. Not printable yet."""
    return " ".join(_quoted(argument.decode("utf-8", "surrogateescape")) for argument in argv)


def _quoted(word: str) -> str:
    # As `shlex.quote` does, which brings `re` along: that would make up a fifth of what a listing costs.
    if word and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _time(wall: int | None) -> str | None:
    return None if wall is None else format_time_utc(wall)


def _line(*values: object) -> str:
    return "\t".join(NOTHING if value in (None, "") else printable(str(value)) for value in values)

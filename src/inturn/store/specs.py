"""What the user asked for: stored once, changed only by the user, read by whoever is to run it."""

from __future__ import annotations

from inturn.core.retry import Policy
from inturn.core.spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from inturn.store.db import Store

# What jobs that are alike in all else may well differ in; no CHECK of the schema is about it.
OWN_COLUMNS = ("argv", "cwd", "env_changes", "stdin_file", "note")
SHARED_COLUMNS = (
    *("umask", "merge_output", "leave_children", "nice"),
    *("success_codes", "retry_codes", "retry_signals", "retry_timeouts", "retry_start_failures"),
    *("success_target", "run_limit", "failure_limit"),
    *("retry_delay", "retry_backoff", "retry_max_delay", "retry_jitter", "retry_abort_at"),
    *("run_timeout", "job_timeout", "stop_grace", "max_crashes"),
    *("wait_mode", "wait_poll", "probe_timeout", "wait_abort_at"),
)
COLUMNS = ("job_id", "environment", *OWN_COLUMNS, *SHARED_COLUMNS)
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM specs WHERE job_id = ?"
_SHARED = COLUMNS.index(SHARED_COLUMNS[0])


def own_values(spec: Spec) -> tuple[Any, ...]:
    """The values of OWN_COLUMNS."""
    return (
        b"\0".join(spec.argv),
        spec.cwd,
        b"\0".join(spec.env_changes),
        spec.stdin_file,
        spec.note,
    )


def shared_values(spec: Spec) -> tuple[Any, ...]:
    """The values of SHARED_COLUMNS."""
    policy = spec.policy
    return (
        spec.umask,
        int(spec.merge_output),
        int(spec.leave_children),
        spec.nice,
        format_ranges(policy.success_codes),
        format_ranges(policy.retry_codes),
        format_ranges(policy.retry_signals),
        int(policy.retry_timeouts),
        int(policy.retry_start_failures),
        policy.success_target,
        policy.run_limit,
        policy.failure_limit,
        policy.delay,
        policy.backoff,
        policy.max_delay,
        policy.jitter,
        policy.abort_at,
        spec.run_timeout,
        spec.job_timeout,
        spec.stop_grace,
        spec.max_crashes,
        spec.wait_mode,
        spec.wait_poll,
        spec.probe_timeout,
        spec.wait_abort_at,
    )


def change(store: Store, job_id: int, argv: tuple[bytes, ...] | None, note: str | None) -> None:
    """Store another command, another note, or both; None leaves what there is, and an empty note is none."""
    if argv is not None:
        store.execute("UPDATE specs SET argv = ? WHERE job_id = ?", (b"\0".join(argv), job_id))
    if note is not None:
        store.execute("UPDATE specs SET note = ? WHERE job_id = ?", (note or None, job_id))


def load(store: Store, job_id: int) -> Spec:
    """The specification of a job that exists."""
    row = store.row(_SELECT, (job_id,))
    argv, cwd, env_changes, stdin_file, note = row[2:_SHARED]
    shared = row[_SHARED:]
    known, common = store.shared_spec
    if common is None or known != shared:
        common = _parse_shared(shared)
        store.shared_spec = (shared, common)
    return common._replace(
        argv=tuple(argv.split(b"\0")),
        cwd=cwd,
        environment=load_environment(store, row[1]),
        env_changes=_entries(env_changes),
        stdin_file=stdin_file,
        note=note,
    )


def _parse_shared(values: tuple[Any, ...]) -> Spec:
    """A specification with what SHARED_COLUMNS say, and nothing of its own."""
    row = dict(zip(SHARED_COLUMNS, values, strict=True))
    policy = Policy(
        success_codes=parse_ranges(row["success_codes"]),
        retry_codes=parse_ranges(row["retry_codes"]),
        retry_signals=parse_ranges(row["retry_signals"]),
        retry_timeouts=bool(row["retry_timeouts"]),
        retry_start_failures=bool(row["retry_start_failures"]),
        success_target=row["success_target"],
        run_limit=row["run_limit"],
        failure_limit=row["failure_limit"],
        delay=row["retry_delay"],
        backoff=row["retry_backoff"],
        max_delay=row["retry_max_delay"],
        jitter=row["retry_jitter"],
        abort_at=row["retry_abort_at"],
    )
    return Spec(
        argv=(),
        cwd=b"",
        environment=(),
        umask=row["umask"],
        merge_output=bool(row["merge_output"]),
        leave_children=bool(row["leave_children"]),
        nice=row["nice"],
        policy=policy,
        run_timeout=row["run_timeout"],
        job_timeout=row["job_timeout"],
        stop_grace=row["stop_grace"],
        max_crashes=row["max_crashes"],
        wait_mode=row["wait_mode"],
        wait_poll=row["wait_poll"],
        probe_timeout=row["probe_timeout"],
        wait_abort_at=row["wait_abort_at"],
    )


def environment_id(store: Store, entries: tuple[bytes, ...]) -> int:
    """The id of an environment, stored once however many jobs have it."""
    from binascii import crc32  # no owner of a job needs it

    body = b"\0".join(entries)
    checksum = crc32(body)
    found = store.row("SELECT id FROM environments WHERE checksum = ? AND body = ?", (checksum, body))
    if found is None:
        store.execute("INSERT INTO environments (checksum, body) VALUES (?, ?)", (checksum, body))
        return store.connection.last_insert_rowid()
    return int(found[0])


def load_environment(store: Store, number: int) -> tuple[bytes, ...]:
    """The entries of an environment. The last one is kept: jobs that follow often share it."""
    if store.environment[0] != number:
        body = bytes(store.row("SELECT body FROM environments WHERE id = ?", (number,))[0])
        store.environment = (number, _entries(body))
    return store.environment[1]


def format_ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    """`0,3-5` for ((0, 0), (3, 5))."""
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def parse_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """The opposite of format_ranges."""
    ranges = []
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        ranges.append((int(low), int(high or low)))
    return tuple(ranges)


def _entries(body: bytes) -> tuple[bytes, ...]:
    return tuple(body.split(b"\0")) if body else ()

"""The examination of a store, and a copy of it: what is wrong, what may go wrong, and what to do about it."""

from __future__ import annotations

import os

from inturn.core.health import NOTE, OK, PROBLEM, Finding
from inturn.core.roster import ALIVE, DEAD, UNVERIFIED
from inturn.errors import InturnError
from inturn.host import pulse
from inturn.service import orphans, premises, roster
from inturn.store import admin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inturn.service.context import Context
    from inturn.store.db import Store

REPAIR = "inturn doctor --repair"

# Of the checks of the database those that a repair does not mend.
_FIXES = {
    "schema": "use the inturn that has made this store, or name another directory with --dir",
    "receipts": "",
}

# So many jobs are named in one message.
_NAMED = 10


def examine(context: Context) -> list[Finding]:
    """Look at everything. Reads the whole database, and changes nothing."""
    store = context.store
    if store is None:
        return [Finding(OK, "store", f"there is no store in {context.directory} yet")]
    sqlite = Finding(OK, "sqlite", f"SQLite {admin.sqlite_version()}")
    damage = [
        Finding(PROBLEM, "integrity", fault, "restore a backup of the directory")
        for fault in admin.integrity(store)
    ]
    if damage:
        return [sqlite, *damage]  # What is in it cannot be trusted, nor perhaps be read.
    return [
        sqlite,
        Finding(OK, "integrity", "the database is sound"),
        *_database(store),
        *_owners(context),
        *_jobs(context, store),
        *orphans.findings(store),
        *premises.findings(context, store),
    ]


def back_up(context: Context, path: str) -> str:
    """Copy the database to a new file, consistent though others write; returns its absolute path.

    Raises InturnError `not_found` without a store, `conflict` if the file is there, `failed` if it cannot be
    written.
    """
    if context.store is None:
        raise InturnError(
            "not_found", f"there is no store in {context.directory}", "Name another with --dir."
        )
    if not path:
        raise InturnError("invalid_value", "the name of the copy is empty", "Name a new file.")
    target = os.path.abspath(path)
    try:
        admin.copy_to(context.store, target)
    except FileExistsError:
        raise InturnError("conflict", f"{target} is there already", "Name a new file.") from None
    except OSError as error:
        raise InturnError("failed", f"{target} cannot be written: {error.strerror}") from error
    return target


def _database(store: Store) -> Iterator[Finding]:
    with store.reading():
        checks = (
            ("schema", admin.wrong_migrations(store), "the schema is that of this inturn, or a newer one"),
            ("counters", admin.wrong_counts(store), "the counters are right"),
            ("admissions", admin.wrong_admissions(store), "active jobs and slots in use agree"),
            ("receipts", admin.wrong_receipts(store), "no job has gone on without its dependencies"),
        )
        forgotten = admin.forgotten(store)
    for check, faults, fine in checks:
        if not faults:
            yield Finding(OK, check, fine)
        for fault in faults:
            yield Finding(PROBLEM, check, fault, _FIXES.get(check, REPAIR))
    if forgotten:
        told = f"what waits for {_named(forgotten)} will not be told that it has ended"
        yield Finding(PROBLEM, "dependents", told, REPAIR)


def _owners(context: Context) -> Iterator[Finding]:
    members = roster.members(context)
    stopped = [one for one in members if one.life == ALIVE and pulse.is_stopped(one.keeper.identity)]
    for one in members:
        who = f"{one.keeper.kind} {one.keeper.id} (process {one.keeper.pid})"
        has = f" and has {_named(one.jobs)}" if one.jobs else ""
        severity = PROBLEM if one.jobs else NOTE
        if one.life == DEAD:
            yield Finding(severity, "owners", f"{who} is dead{has}", "inturn recover")
        elif one.life == UNVERIFIED:
            told = f"whether {who} lives cannot be told from here; it is left alone{has}"
            fix = "inturn recover, where it was started: in the same container, say"
            yield Finding(severity, "owners", told, fix)
        elif one in stopped:
            yield Finding(severity, "owners", f"{who} is stopped{has}", f"kill -CONT {one.keeper.pid}")
    if not stopped and all(one.life not in (DEAD, UNVERIFIED) for one in members):
        yield Finding(OK, "owners", f"owners: {len(members)}, all alive")


def _jobs(context: Context, store: Store) -> Iterator[Finding]:
    with store.reading():
        nobodys = admin.without_owner(store)
    if nobodys:
        told = f"nobody answers for {_named(nobodys)}, though somebody should"
        yield Finding(PROBLEM, "jobs", told, f"inturn cancel {' '.join(map(str, nobodys[:_NAMED]))}")
    else:
        yield Finding(OK, "jobs", "somebody answers for every job that has begun")
    for it in roster.lines(context):
        waiting = sum(it.counts.get(status, 0) for status in ("queued", "backoff", "scheduled", "waiting"))
        if waiting and not it.serving:
            told = f"no live worker serves the queue {it.name}, where {waiting} of its jobs stand"
            yield Finding(NOTE, "queues", told, f"inturn work --queue {it.name}")


def _named(ids: Sequence[int]) -> str:
    named = ", ".join(map(str, ids[:_NAMED])) + (", …" if len(ids) > _NAMED else "")
    return f"{'job' if len(ids) == 1 else 'jobs'} {named}"

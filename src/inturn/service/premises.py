"""What surrounds a store: its files, the machine that it is on, and what happens at logout and at boot."""

from __future__ import annotations

import os

from inturn.core.health import NOTE, OK, PROBLEM, Finding
from inturn.host import logind, premises
from inturn.host.diary import FILE_NAME as DIARY
from inturn.service import at_boot, log_dirs
from inturn.store import admin, backup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from inturn.host.logind import Logout
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

_REPAIR = "inturn doctor --repair"


class Stale(NamedTuple):
    """Files that nobody needs, and some that should not be there.

    `owners` are tokens; `logs` are of jobs that were removed; `foreign` of jobs that were never submitted;
    `empty` are the numbers of directories that no log can come into any more; `copies` of the database were
    begun by an upgrade that was killed.
    """

    owners: tuple[str, ...]
    logs: tuple[str, ...]
    foreign: tuple[str, ...]
    empty: tuple[int, ...]
    copies: tuple[str, ...]


def findings(context: Context, store: Store) -> Iterator[Finding]:
    """All that can be said of a store's surroundings."""
    yield from _files(context, store)
    yield from _place(context)
    yield from at_logout(logind.look(at_boot.user()))
    if at_boot.standing(context).how:
        yield Finding(OK, "boot", "its jobs are recovered when the machine has started")
    else:
        told = "after a restart of the machine its jobs go on when inturn is next used, and not before"
        yield Finding(NOTE, "boot", told, "inturn recover --at-boot install")


def stale(context: Context, store: Store) -> Stale:
    """The files that nobody needs any more, and those that should not be there."""
    logs = premises.logs_by_job(context.directory)
    # Looked at after the files: what has come since is known.
    with store.reading():
        known = admin.existing(store, logs)
        last = admin.last_id(store)
        tokens = admin.tokens_of_owners(store)
    unknown = {job: files for job, files in logs.items() if job not in known}
    return Stale(
        tuple(premises.abandoned(context.directory, tokens, context.now().wall)),
        tuple(path for job, files in unknown.items() if job <= last for path in files),
        tuple(path for job, files in unknown.items() if job > last for path in files),
        tuple(log_dirs.left(context, store)),
        tuple(backup.abandoned(store.path)),
    )


def _files(context: Context, store: Store) -> Iterator[Finding]:
    missing = premises.missing_dirs(context.directory)
    for name in missing:
        told = f"{name}/ is missing; somebody has removed it, with all that was in it"
        yield Finding(PROBLEM, "files", told, _REPAIR)
    found = stale(context, store)
    if found.owners:
        told = f"{len(found.owners)} dead processes have left files in owners/"
        yield Finding(NOTE, "files", told, _REPAIR)
    if found.logs:
        told = f"{len(found.logs)} logs are of jobs that were removed"
        yield Finding(NOTE, "files", told, _REPAIR)
    if found.empty:
        told = f"{len(found.empty)} directories of logs are empty, and of jobs that were removed"
        yield Finding(NOTE, "files", told, _REPAIR)
    if found.copies:
        told = f"{len(found.copies)} copies of the database were begun by an upgrade that was killed"
        yield Finding(NOTE, "files", told, _REPAIR)
    if found.foreign:
        told = (
            f"{len(found.foreign)} logs are of jobs that the database does not know yet, such as"
            f" {found.foreign[0]}: was an old copy of it put back? New jobs would write to them"
        )
        yield Finding(PROBLEM, "files", told, f"move what does not belong there out of {context.directory}")
    if not (missing or any(found)):
        yield Finding(OK, "files", "every file belongs to somebody")
    diary = os.path.join(context.directory, DIARY)
    # Where the disk was full, it was begun and nothing more.
    if os.path.exists(diary) and os.path.getsize(diary):
        told = "a process that had no terminal has written down what it died of"
        yield Finding(NOTE, "errors", told, f"read {diary}, and remove it")


def _place(context: Context) -> Iterator[Finding]:
    for place in premises.unwritable(context.directory):
        told = f"nothing can be written to {place}: jobs can neither be submitted nor run"
        yield Finding(PROBLEM, "permissions", told, "check its permissions and mount")
    doors = premises.open_doors(context.directory)
    if doors:
        told = f"others can look into {', '.join(doors)}"
        yield Finding(NOTE, "permissions", told, f"chmod -R go= {context.directory}")
    else:
        yield Finding(OK, "permissions", "the store is private")
    kind = premises.file_system(context.directory)
    if kind:
        yield Finding(OK, "file_system", f"{context.directory} is on a local file system ({kind})")
    else:
        told = f"it cannot be told whether {context.directory} is on a network file system"
        yield Finding(NOTE, "file_system", told, "keep the store on a local disk")


def at_logout(found: Logout) -> Iterator[Finding]:
    """Whether jobs survive the logout of their user."""
    if not found.systemd:
        yield Finding(OK, "logout", "no systemd here that would end jobs at logout")
    elif found.kills:
        told = "systemd ends all that you have started when you log out (KillUserProcesses), jobs included"
        fix = (
            "set KillUserProcesses=no in /etc/systemd/logind.conf; or loginctl enable-linger, and start with:"
            " systemd-run --user --scope inturn"
        )
        yield Finding(PROBLEM, "logout", told, fix)
    elif found.kills is None:
        told = "whether systemd ends jobs at logout cannot be told: nothing sets KillUserProcesses"
        yield Finding(NOTE, "logout", told, "set KillUserProcesses=no in /etc/systemd/logind.conf")
    else:
        yield Finding(OK, "logout", "jobs go on when you log out")

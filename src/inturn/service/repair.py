"""What `doctor --repair` mends: only what follows from the store's own rows, or is proven to be nobody's."""

from __future__ import annotations

import os

from inturn.host import faults
from inturn.host.paths import discard, make_again, owner_files
from inturn.host.premises import missing_dirs
from inturn.service import log_dirs, orphans, premises
from inturn.store import admin, backup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from inturn.service.context import Context
    from inturn.store.db import Store


def repair(context: Context, end_orphans: bool) -> list[str]:
    """Mend what can be; what was done, in sentences. Processes are ended only with `end_orphans`."""
    store = context.store
    if store is None:
        return []
    done = [*_database(store), *_directories(context), *_files(context, store)]
    if end_orphans:
        found, left = orphans.end(store)
        if found:
            done.append(f"ended {found - left} of {found} processes of runs that were over")
    return done


def _database(store: Store) -> Iterator[str]:
    with faults.commit("repair", store.writing()):
        counts = bool(admin.wrong_counts(store))
        if counts:
            admin.rebuild_counts(store)
        released = admin.release_ended(store)
        forgotten = admin.forgotten(store)
        if forgotten:
            admin.remember(store)
    if counts:
        yield "counted the jobs anew"
    if released:
        yield f"gave back the slots of {released} jobs that had ended"
    if forgotten:
        yield f"had the dependents of {len(forgotten)} jobs looked at again"


def _directories(context: Context) -> Iterator[str]:
    for name in missing_dirs(context.directory):
        make_again(os.path.join(context.directory, name))
        yield f"made {name}/ again"


def _files(context: Context, store: Store) -> Iterator[str]:
    found = premises.stale(context, store)
    for token in found.owners:
        discard(*owner_files(context.directory, token))
    discard(*found.logs)
    emptied = log_dirs.sweep(context, store)
    copies = backup.sweep(store.path)
    if found.owners:
        yield f"removed the files of {len(found.owners)} dead processes"
    if found.logs:
        yield f"removed {len(found.logs)} logs of jobs that were removed"
    if emptied:
        yield f"removed {emptied} empty directories of logs"
    if copies:
        yield f"removed {copies} unfinished copies of the database"

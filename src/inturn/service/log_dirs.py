"""Directories of logs that no run can use any more: their jobs were removed, and ids are never given again.

Since that stays true, it is asked in a transaction and acted on after it, without a lock: nobody is about to
open a log there.
"""

from __future__ import annotations

from inturn.host import log_dirs
from inturn.store import prune as rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.service.context import Context
    from inturn.store.db import Store


def left(context: Context, store: Store) -> list[int]:
    """The numbers of those that are empty."""
    return log_dirs.empty(context.directory, _vacated(context, store))


def sweep(context: Context, store: Store) -> int:
    """Remove those that are empty; how many that were.

    All of them, not just those of jobs that were removed now: a directory may have been the newest then, or
    somebody else may still have been at its files.
    """
    return log_dirs.remove_empty(context.directory, _vacated(context, store))


def _vacated(context: Context, store: Store) -> list[int]:
    there = log_dirs.numbers(context.directory)
    with store.reading():
        return rows.vacated(store, there)

"""Processes of runs that are over: found by the cookie in their environment, ended by verified identity."""

from __future__ import annotations

import signal
from time import monotonic, sleep

from inturn.core.health import OK, PROBLEM, Finding
from inturn.core.moment import SECOND
from inturn.host import tree
from inturn.store import admin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from inturn.host.identity import Identity
    from inturn.store.admin import MarkedRun
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# How often those that are being ended are looked for, and how long KILL may take to work, in seconds.
_PAUSE = 0.05
_KILL_TAKES = 10.0


class Orphan(NamedTuple):
    """A process of a run that is over."""

    process: Identity
    run: MarkedRun


def find(store: Store) -> list[Orphan]:
    """Processes that carry the cookie of a run of this store which is over, unless they were left on purpose.

    A run whose owner has died is not over: its processes are taken care of by `inturn recover`.
    """
    carriers = [(process, cookie.decode("ascii", "replace")) for process, cookie in tree.marked()]
    with store.reading():
        runs = admin.runs_marked(store, {token for _, token in carriers})
    return [
        Orphan(process, runs[token])
        for process, token in carriers
        if token in runs and runs[token].over and not runs[token].leave_children
    ]


def findings(store: Store) -> Iterator[Finding]:
    """What is to be said of them."""
    found = find(store)
    for orphan in found:
        run = orphan.run
        told = f"process {orphan.process.pid} is left of run {run.number} of job {run.job_id}, which is over"
        yield Finding(PROBLEM, "orphans", told, "inturn doctor --repair --yes ends it")
    if not found:
        yield Finding(OK, "orphans", "no process is left of a run that is over")


def end(store: Store) -> tuple[int, int]:
    """End them: TERM, their jobs' grace period, KILL; returns how many were found and how many are left.

    Every one is looked for anew before it is signalled, and signalled by its identity: a pid that has passed
    to another process is none of theirs.
    """
    found = find(store)
    if not found:
        return 0, 0
    everyone = {orphan.process for orphan in found}
    grace = max(orphan.run.stop_grace for orphan in found) / SECOND
    told: set[Identity] = set()
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, _KILL_TAKES)):
        told.clear()
        end_of_patience = monotonic() + patience
        while True:
            left = {orphan.process for orphan in find(store)}
            everyone |= left
            tree.signal_members(left - told, number)
            if number == signal.SIGTERM:
                # One that was stopped hears it when it goes on.
                tree.signal_members(left - told, signal.SIGCONT)
                told |= left
            if not left or monotonic() > end_of_patience:
                break
            sleep(_PAUSE)
        if not left:
            break
    return len(everyone), len(left)

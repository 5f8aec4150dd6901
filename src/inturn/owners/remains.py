"""What a dead owner may leave behind apart from its jobs: probes that still run, and files of its own."""

from __future__ import annotations

# Not `signal`, which would bring `enum` into every waiting supervisor.
import _signal  # type: ignore[import-not-found]
import os

from inturn.core.moment import SECOND
from inturn.host import faults, locks, paths, tree
from inturn.store import owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from inturn.core.moment import Now
    from inturn.store.db import Store
    from inturn.store.owners import Owner

# Files in `owners/` that are younger (µs) may belong to a process that is about to lock or to register them.
LITTER_AFTER = 60 * SECOND


def probe_cookie(token: str) -> bytes:
    """The mark in the environment of all probes of the owner with this token."""
    return b"probe." + token.encode()


def end_probes(dead: Iterable[Owner]) -> None:
    """Kill the probes of dead owners, each with all that it has started: nobody waits for them any more.

    Else two processes would look at one condition, and a probe that hangs would do so for ever.
    """
    marks = {probe_cookie(owner.token) for owner in dead}
    if marks:
        tree.signal_members(tree.bearers(marks), _signal.SIGKILL)


def sweep(store: Store, directory: str, now: Now) -> None:
    """Remove the files of owners that died before they were in the registry, or after they had left it."""
    found = paths.tokens_of_files(directory)
    if found:
        # Looked at after the files: whoever has registered since is in it.
        known = {owner.token for owner in owners.all_of_them(store)}
        for token in found - known:
            _discard_if_abandoned(directory, token, now)


def _discard_if_abandoned(directory: str, token: str, now: Now) -> None:
    files = paths.owner_files(directory, token)
    for path in files:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        if now.wall - status.st_mtime_ns // 1000 < LITTER_AFTER:
            return
        if path == files[0] and locks.probe(path, status.st_dev, status.st_ino) != "free":
            return
    faults.point("recover.sweeping")
    paths.discard(*files)

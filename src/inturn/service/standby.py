"""A supervisor process that waits until its job is stored.

It takes longer to come than all that is left to do for a submission. So it is started as soon as the store's
place is known; if nothing is submitted after all, it finds no job in its name, and ends.
"""

from __future__ import annotations

# Not `signal`, which would bring `enum` into every submission.
import _signal  # type: ignore[import-not-found]
import os

from inturn.errors import InturnError
from inturn.host import detach, faults, locks
from inturn.host.paths import discard, owner_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from inturn.host.detach import Detached
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple

NO_PROCESS = "Nothing was submitted. Is there a limit on processes? See: ulimit -u"


class Standby(NamedTuple):
    """The process, the token that its job is to be stored under, and our descriptor of the lock it holds."""

    token: str
    lock: int
    child: Detached


def start(context: Context) -> Standby:
    """Start one. Raises InturnError `submission_failed` if the system has no process to give."""
    token = os.urandom(8).hex()
    lock_path, _ = owner_files(context.directory, token)
    lock = locks.create(lock_path)
    faults.point("submit.locked")
    try:
        child = start_process(context, lock, token)
    except BaseException:
        os.close(lock)
        discard(lock_path)
        raise
    faults.point("submit.spawned")
    return Standby(token, lock, child)


def start_ahead(context: Context) -> Standby | None:
    """Start one in a store that nobody has looked into yet: if nothing can be written there, None."""
    try:
        return start(context)
    except OSError:
        return None  # Whoever opens the store says what is wrong with it.


def dismiss(context: Context, one: Standby | None) -> None:
    """End one for which there is nothing to do, before it looks for its job in the store."""
    if one is None:
        return
    os.kill(one.child.pid, _signal.SIGKILL)  # our child: the number is its own until we have reaped it
    os.waitpid(one.child.pid, 0)
    for fd in (one.lock, one.child.go, one.child.answer):
        os.close(fd)
    discard(owner_files(context.directory, one.token)[0])


def start_process(context: Context, lock: int, *words: str) -> Detached:
    """Start a supervisor, or the process that forks several, which holds `lock`; `words` are its arguments.

    Raises InturnError `submission_failed` if the system has no process to give.
    """
    # Nothing of the submitter's environment, least of all the marks of a run.
    environment = {"INTURN_DIR": context.directory, "LC_ALL": "C.UTF-8"}
    try:
        return detach.start((*context.supervisor, context.directory, *words), environment, lock)
    except OSError as error:
        raise InturnError(
            "submission_failed", f"no supervisor can be started: {error.strerror}", NO_PROCESS
        ) from error

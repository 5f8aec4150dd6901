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
    from inturn.host.detach import Detached
    from inturn.service.context import Context

NO_PROCESS = (
    "Nothing was submitted. Is there a limit on processes, or on open files? See: ulimit -u, ulimit -n"
)


class Standby:
    """The process, the token that its job is to be stored under, and our descriptor of the lock it holds.

    Whoever takes it sees to the rest, which `taken` says; one that nobody takes is to be dismissed.
    """

    def __init__(self, directory: str, token: str, lock: int, child: Detached) -> None:
        self.directory = directory
        self.token = token
        self.lock = lock
        self.child = child
        self.taken = False


def take(context: Context) -> Standby:
    """The one that was started in advance, or a new one. Raises as `start`."""
    one = context.standby
    if one is None or one.taken:
        one = start(context.directory, context.supervisor)
    one.taken = True
    return one


def start(directory: str, supervisor: tuple[str, ...]) -> Standby:
    """Start one. Raises InturnError `submission_failed` if the system has no process to give."""
    token = os.urandom(8).hex()
    lock_path, _ = owner_files(directory, token)
    lock = locks.create(lock_path)
    try:
        faults.point("submit.locked")
        child = start_process(directory, supervisor, lock, token)
    except BaseException:
        os.close(lock)
        discard(lock_path)
        raise
    faults.point("submit.spawned")
    return Standby(directory, token, lock, child)


def start_ahead(directory: str, supervisor: tuple[str, ...]) -> Standby | None:
    """Start one in a store that nobody has looked into yet: if nothing can be written there, None."""
    try:
        return start(directory, supervisor)
    except OSError:
        return None  # Whoever opens the store says what is wrong with it.


def dismiss(one: Standby) -> None:
    """End one for which there is nothing to do, before it finds that out; nothing if it was taken."""
    if one.taken:
        return
    one.taken = True
    try:
        os.kill(one.child.pid, _signal.SIGKILL)  # our child: the number is its own until we have reaped it
        os.waitpid(one.child.pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass  # Where we ignore the ends of our children it has gone without a trace.
    finally:
        for fd in (one.lock, one.child.go, one.child.answer):
            os.close(fd)
        discard(owner_files(one.directory, one.token)[0])


def start_process(directory: str, supervisor: tuple[str, ...], lock: int, *words: str) -> Detached:
    """Start a supervisor, or the process that forks several, which holds `lock`; `words` are its arguments.

    Raises InturnError `submission_failed` if the system has no process to give.
    """
    # Nothing of the submitter's environment, least of all the marks of a run.
    environment = {"INTURN_DIR": directory, "LC_ALL": "C.UTF-8"}
    try:
        return detach.start((*supervisor, directory, *words), environment, lock)
    except OSError as error:
        raise InturnError(
            "submission_failed", f"no supervisor can be started: {error.strerror}", _hint(error)
        ) from error


def _hint(error: OSError) -> str:
    import errno  # built in: where no more files can be opened, no other module could be loaded

    if error.errno == errno.EMFILE:
        return "Nothing was submitted. Too many files are open; see: ulimit -n"
    if error.errno == errno.ENFILE:
        return "Nothing was submitted. Too many files are open on this machine; try again."
    if error.errno == errno.ENOMEM:
        return "Nothing was submitted. Free some memory and try again."
    return "Nothing was submitted. Is there a limit on processes? See: ulimit -u"

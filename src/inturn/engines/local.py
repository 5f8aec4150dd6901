"""Runs as child processes on this machine: starting them, and finding those of a dead owner."""

from __future__ import annotations

# Not `signal`: that wraps the same functions in `enum`, which every waiting supervisor would pay for.
import _signal  # type: ignore[import-not-found]
import os
import stat

from inturn.engines.base import Found, Launch, OutOfResources, StartFailed
from inturn.engines.process import Child, LocalRun, NativeId
from inturn.host import clock, descriptors, faults, identity, logs, spawn, tree
from inturn.host.identity import Identity
from inturn.host.logs import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.host.spares import Spares

_TERMINAL = 0

_TOO_MANY_FILES = " (see: ulimit -n)"


class LocalEngine:
    """Starts runs as our children. Their orphans become our children too, from the first start on."""

    name = "local"

    def __init__(self, spares: Spares | None = None) -> None:
        """With `spares`, logs without content are used again: for one that starts run after run."""
        self._is_subreaper = False
        self._spares = spares

    def prepare(self) -> None:
        """Adopt what will be orphaned. Raises OSError."""
        if not self._is_subreaper:
            tree.become_subreaper()
            spawn.prepare()
            self._is_subreaper = True

    def start(self, launch: Launch) -> LocalRun:
        """Start the program; what it prints goes to the logs without passing through us.

        Raises StartFailed, as OutOfResources if that says nothing of the job.
        """
        self.prepare()
        try:
            return _start(launch, self._spares)
        except ValueError as error:  # a NUL byte in an argument, a variable without a name
            raise StartFailed("start_refused", f"the system cannot be given this command: {error}") from error

    def rest(self) -> None:
        """Remove what is kept for the next start: it will not be soon."""
        if self._spares is not None:
            self._spares.discard()

    def find(self, native_id: str, token: str, log: str) -> Found:
        """Find a run of another owner, which is dead. See `engines.base.Engine`."""
        from inturn.engines import search  # no supervisor of a new job needs it

        return search.find(native_id, token, log)


def _start(launch: Launch, spares: Spares | None) -> LocalRun:
    executable = spawn.resolve(launch.argv[0], launch.env.get(b"PATH"), launch.cwd)
    stdin = _TERMINAL if launch.keep_stdin else _open_stdin(launch)
    try:
        # What watches the run gets the number that its input has now.
        if descriptors.is_among_the_last(stdin):
            raise OutOfResources(f"too many files are open already{_TOO_MANY_FILES}")
        streams = _open_logs(launch, spares)
        faults.point("run.logs_open")
        before = identity.ticks()
        try:
            pid = _spawn(launch, executable, stdin, streams)
        except BaseException:
            streams.close()
            logs.remove_empty(launch.log)
            raise
        streams.close()
    finally:
        if not launch.keep_stdin:
            os.close(stdin)
    faults.point("run.spawned")
    pidfd = _watch(pid)
    who = identity.of_child(pid, before, identity.ticks()) or Identity(pid, 0, clock.boot_id(), 0)
    native = NativeId(who, streams.ids)
    path = os.fsdecode(os.path.join(launch.cwd, executable))
    on_over = logs.remove_empty if spares is None else spares.offer
    return LocalRun(Child(pid), pidfd, native, launch.token, launch.log, path, on_over=on_over)


def _spawn(launch: Launch, executable: bytes, stdin: int, streams: Streams) -> int:
    try:
        return spawn.start(
            launch.argv,
            executable,
            {**launch.env, tree.COOKIE: launch.token.encode()},
            cwd=launch.cwd,
            umask=launch.umask,
            nice=launch.nice,
            stdin=stdin,
            stdout=streams.out,
            stderr=streams.err,
        )
    except StartFailed as failure:
        if isinstance(failure.__cause__, OSError):
            raise _failed(failure.__cause__, failure.reason, failure.message) from failure
        raise


def _open_stdin(launch: Launch) -> int:
    path = b"/dev/null" if launch.stdin is None else os.path.join(launch.cwd, launch.stdin)
    try:
        if launch.stdin is None:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        # A pipe must not keep us waiting for its writer, nor a terminal become ours.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise _failed(error, "stdin_missing", _unreadable(path, error.strerror or "")) from error
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        raise StartFailed("stdin_missing", _unreadable(path, "it is a directory"))
    os.set_blocking(fd, True)
    return fd


def _unreadable(path: bytes, why: str) -> str:
    return f"the input file {os.fsdecode(path)!r} cannot be read: {why.lower()}"


def _open_logs(launch: Launch, spares: Spares | None) -> Streams:
    try:
        taken = spares.open(launch.log) if spares is not None and not launch.merge else None
        return taken or logs.open_streams(launch.log, launch.merge)
    except OSError as error:
        message = f"the log {error.filename!r} cannot be opened: {(error.strerror or '').lower()}"
        raise _failed(error, "log_unavailable", message) from error


def _failed(error: OSError, reason: str, message: str) -> StartFailed:
    """What an error comes to from before anything was started: a fault of the job, or none of it."""
    # Only now: a waiting supervisor has no use for its 140 names. It is built in: no file is opened for it.
    import errno

    if error.errno == errno.EMFILE:
        return OutOfResources(message + _TOO_MANY_FILES)
    if error.errno == errno.EAGAIN:
        return OutOfResources(f"{message} (see: ulimit -u)")
    if error.errno in (errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT):
        return OutOfResources(message)
    return StartFailed(reason, message)


def _watch(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        # What cannot be watched must not run on. It has begun: that it never was started cannot be said any
        # more, whatever was lacking. A descriptor there is: its start has just given some back.
        os.killpg(pid, _signal.SIGKILL)
        os.waitpid(pid, 0)
        spawn.awaited.discard(pid)
        raise StartFailed("start_refused", f"the process cannot be watched: {error.strerror}") from error

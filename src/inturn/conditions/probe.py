"""`--wait-probe`: a command that exits with 0.

It is started in the job's directory and environment, without a shell, and killed with its whole group when
its time is over. The owner does not wait for it: it watches the descriptors of a `Probe` and polls. A probe
ends with its leader: what that leaves behind in the group is killed, and nobody waits for a grandchild that
keeps the output open.
"""

from __future__ import annotations

# Not `signal`: that wraps the same functions in `enum`, which every waiting supervisor would pay for.
import _signal  # type: ignore[import-not-found]
import os

from inturn.conditions.base import observed
from inturn.core.duration import format_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.conditions.base import Observation, Surroundings
    from inturn.core.job import Condition
    from inturn.core.moment import Now

OUTPUT_LIMIT = 64 * 1024  # bytes; the rest is read, so that the probe can go on, and dropped

_CHUNK = 64 * 1024  # what a pipe holds
_CHUNKS_AT_ONCE = 16  # a probe that never stops writing must not keep its owner busy

# How long a process that was killed may take to be gone. One that hangs in the kernel is left behind.
_PATIENCE_MS = 1000

# exec resets what we catch, but what we ignore (Python itself ignores SIGPIPE; nohup SIGHUP) would stay so.
_RESET = tuple(sorted(set(_signal.valid_signals()) - {_signal.SIGKILL, _signal.SIGSTOP}))


def start(condition: Condition, surroundings: Surroundings, now: Now) -> Observation | Probe:
    """Start the probe; an observation at once if it could not be started.

    The directory of the whole process changes for the duration of the call: not to be called while another
    thread depends on it.
    """
    argv = condition.argument.split(b"\0")
    executable = _search(argv[0], surroundings)
    if executable is None:
        return observed(False, f"command not found: {_text(argv[0])}")
    try:
        output, writer = os.pipe()
        try:
            pid = _spawn(executable, argv, surroundings, writer)
        except BaseException:
            os.close(output)
            raise
        finally:
            os.close(writer)
    except OSError as error:
        return observed(False, f"{_text(argv[0])}: {_reason(error, surroundings.cwd)}")
    except ValueError as error:  # a variable without a name
        return observed(False, f"{_text(argv[0])}: {error}")
    return _watched(pid, output, surroundings.probe_timeout, now)


def _watched(pid: int, output: int, timeout: int, now: Now) -> Observation | Probe:
    try:
        pidfd = os.pidfd_open(pid)
    except OSError as error:  # no descriptor left
        os.close(output)
        _kill_group(pid)
        os.waitpid(pid, 0)
        return observed(False, f"it cannot be watched: {error.strerror}")
    os.set_blocking(output, False)
    return Probe(pid, pidfd, output, timeout, now)


class Probe:
    """A probe that was started and is not over."""

    def __init__(self, pid: int, pidfd: int, output: int, timeout: int, now: Now) -> None:
        self.pid = pid
        self.deadline = now.mono + timeout
        self._timeout = timeout
        self._pidfd = pidfd
        self._output = output
        self._captured = bytearray()
        self._seen: Observation | None = None

    def filenos(self) -> tuple[int, ...]:
        """The descriptors to watch; none when it is over."""
        return tuple(fd for fd in (self._pidfd, self._output) if fd >= 0)

    def poll(self, now: Now) -> Observation | None:
        """The result, or None while it runs and still may."""
        if self._pidfd < 0:
            return self._seen
        self._read()
        try:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            self._seen = observed(False, "its exit status was lost")
            self._close()
            return self._seen
        if ended:
            self._seen = self._result(self._end())
        elif now.mono >= self.deadline:
            self._end()
            self._seen = observed(False, f"timed out after {format_duration(self._timeout)}")
        return self._seen

    def abandon(self) -> None:
        """Kill the whole group; nothing of it is looked at any more."""
        if self._pidfd >= 0:
            self._end()

    def _read(self) -> None:
        """Take what has been written. At the end of the output its descriptor is closed: it would wake us."""
        for _ in range(_CHUNKS_AT_ONCE):
            if self._output < 0:
                return
            try:
                chunk = os.read(self._output, _CHUNK)
            except BlockingIOError:
                return
            self._captured += chunk[: OUTPUT_LIMIT - len(self._captured)]
            if not chunk:
                os.close(self._output)
                self._output = -1

    def _end(self) -> int | None:
        """Kill who is left, reap the leader and close; its exit code (negative for a signal) if it has one.

        The group is killed before its leader is reaped: until then nobody else can have its number.
        """
        _kill_group(self.pid)
        self._read()
        code = _reap(self.pid, self._pidfd)
        self._close()
        return code

    def _close(self) -> None:
        for fd in self.filenos():
            os.close(fd)
        self._pidfd = self._output = -1

    def _result(self, code: int | None) -> Observation:
        if code is not None and code < 0:
            return observed(False, f"killed by signal {-code}")
        lines = [line for line in _text(self._captured).splitlines() if line.strip()]
        return observed(code == 0, f"exit {code}: {lines[-1]}" if lines else f"exit {code}")


def _search(program: bytes, surroundings: Surroundings) -> bytes | None:
    """The file to execute: what a shell in the job's directory would find in the job's own PATH."""
    if b"/" in program:
        return program
    path = surroundings.environment.get(b"PATH")
    if path is None:
        path = os.fsencode(os.confstr("CS_PATH") or "/bin:/usr/bin")
    for entry in path.split(b":"):
        candidate = os.path.join(entry or b".", program)  # an empty entry is the current directory (POSIX)
        full = os.path.join(surroundings.cwd, candidate)
        if program and os.path.isfile(full) and os.access(full, os.X_OK):
            return candidate
    return None


def _spawn(executable: bytes, argv: list[bytes], surroundings: Surroundings, writer: int) -> int:
    home = _open_here()
    try:
        os.chdir(surroundings.cwd)
        return os.posix_spawn(
            executable,
            argv,
            surroundings.environment,
            # In this order `writer` may be any number, even one of a standard stream that we lack.
            file_actions=[
                (os.POSIX_SPAWN_DUP2, writer, 1),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=_RESET,
        )
    finally:
        os.fchdir(home)
        os.close(home)


def _open_here() -> int:
    """Our working directory as a descriptor, which also leads back to one that was renamed or removed."""
    try:
        return os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:  # we could not come back to it: the root serves an owner just as well
        return os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, _signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # gone, or every one of them has changed its user (sudo)
        pass


def _reap(pid: int, pidfd: int) -> int | None:
    """The exit code of a child that has ended or was killed; None if it cannot be had."""
    import select  # only a job with a probe needs it

    sleeper = select.poll()
    sleeper.register(pidfd, select.POLLIN)
    sleeper.poll(_PATIENCE_MS)
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if ended else None


def _reason(error: OSError, cwd: bytes) -> str:
    """What the system said; a directory that cannot be entered is named: it is not the command's fault."""
    if error.filename == cwd:
        return f"the directory {_text(cwd)} cannot be entered: {error.strerror}"
    return error.strerror or str(error)


def _text(raw: bytes | bytearray) -> str:
    return raw.decode("utf-8", "replace")

"""Start a program exactly as its job asked for, or say in one sentence which file is to blame.

`posix_spawn` is three times as fast as fork and exec, and stays so in a large process. What it leaves open is
done here: it takes directory and umask from us, keeps ignored signals ignored, and reports a missing
interpreter, directory or program with one and the same error.
"""

from __future__ import annotations

# Not `signal`: that wraps the same functions in `enum`, which every waiting supervisor would pay for.
import _signal  # type: ignore[import-not-found]
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from resource import struct_rusage

# exec resets what we catch, but what we ignore (Python itself ignores SIGPIPE; nohup SIGHUP) would stay so.
_RESET = tuple(sorted(set(_signal.valid_signals()) - {_signal.SIGKILL, _signal.SIGSTOP}))
_SCRIPT_DEPTH = 5  # how many scripts the kernel follows that are each other's interpreter

#: Children that somebody of ours waits for with `collect`. Whoever reaps orphans must leave these alone.
awaited: set[int] = set()


class CannotStart(Exception):
    """Nothing was started. `reason` is a word for programs, `message` a sentence that names the right file.

    Reasons: cwd_missing, command_not_found, not_executable, interpreter_missing, not_a_program,
    arguments_too_long, start_refused; an engine adds stdin_missing and log_unavailable.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def resolve(program: bytes, path: bytes | None, cwd: bytes) -> bytes:
    """The file to execute for `program`: what a shell in the directory `cwd` with this PATH would execute.

    `path` is the job's own PATH, never ours; None means that the job has none and gets the system's default.
    The result is relative to `cwd` if the program or the entry of PATH is, so that a script sees the `$0` it
    would see anywhere else. Whether it can be executed, and the directory entered, `start` finds out; what is
    said here of a program that is named by its path would be said twice. Raises CannotStart.
    """
    if b"/" in program:
        return program
    try:
        return _search(program, path, cwd)
    except CannotStart:
        _require_directory(cwd)  # Where that is missing, it is to blame.
        raise


def start(
    argv: tuple[bytes, ...],
    executable: bytes,
    env: Mapping[bytes, bytes],
    *,
    cwd: bytes,
    umask: int,
    nice: int,
    stdin: int,
    stdout: int,
    stderr: int,
) -> int:
    """Start `executable` (from `resolve`) as the leader of a session of its own; returns its pid.

    `cwd` is absolute. `nice` is added to our own niceness, as nice(1) does. The three descriptors must have
    been opened in this order (each may equal the one before), so that none is overwritten before it was
    copied; all others of ours are close-on-exec. Signals have their default dispositions and none is blocked.
    The pid is in `awaited` until `collect` has its end. Directory and umask of the whole process change for
    the duration of the call: not to be called while another thread depends on them. Raises CannotStart;
    ValueError for a NUL byte or a malformed variable.
    """
    raised = _raise_priority(nice)
    home = -1
    try:
        home = _open_here()
        _enter(cwd)
        before = os.umask(umask)
        try:
            pid = os.posix_spawn(
                executable,
                argv,
                env,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, stdin, 0),
                    (os.POSIX_SPAWN_DUP2, stdout, 1),
                    (os.POSIX_SPAWN_DUP2, stderr, 2),
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=_RESET,
            )
        finally:
            os.umask(before)
    except OSError as error:
        raise _explain(error, executable, cwd) from error
    finally:
        if home >= 0:
            os.fchdir(home)
            os.close(home)
        raised()
    awaited.add(pid)
    if nice > 0:
        _lower_priority(pid, nice)
    return pid


def prepare() -> None:
    """Load what only `collect` needs."""
    import resource  # noqa: F401 - os.wait4 would load it, for the type of what it returns


def collect(pid: int) -> tuple[int, struct_rusage] | None:
    """Reap a child that has ended: its wait status and the resources it used; None while it has not.

    Never blocks. Raises ChildProcessError if it was reaped by someone else; its result is then lost.
    """
    try:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
    except ChildProcessError:
        awaited.discard(pid)
        raise
    if ended == 0:
        return None
    awaited.discard(pid)
    return status, usage


# --- finding the program


def _require_directory(cwd: bytes) -> None:
    try:
        if stat.S_ISDIR(os.stat(cwd).st_mode):
            return
    except OSError as error:
        raise _no_directory(cwd, error) from error
    raise CannotStart("cwd_missing", f"the working directory {_shown(cwd)} is not a directory")


def _no_directory(cwd: bytes, error: OSError) -> CannotStart:
    return CannotStart("cwd_missing", f"the working directory {_shown(cwd)} cannot be entered: {_why(error)}")


def _search(program: bytes, path: bytes | None, cwd: bytes) -> bytes:
    if not program:
        raise CannotStart("command_not_found", "the command is empty")
    searched = _default_path() if path is None else path
    unusable = None
    for entry in searched.split(b":"):
        candidate = os.path.join(entry, program)  # an empty entry is the current directory (POSIX)
        fault = _fault(candidate, cwd)
        if fault is None:
            return candidate
        # A directory of PATH that we may not look into says nothing about this command.
        if unusable is None and os.path.lexists(os.path.join(cwd, candidate)):
            unusable = fault
    if unusable is not None:
        raise unusable
    where = "the system's default PATH" if path is None else f"the job's PATH ({_shown(path)})"
    raise CannotStart("command_not_found", f"the command {_shown(program)} was not found in {where}")


def _default_path() -> bytes:
    return os.fsencode(os.confstr("CS_PATH") or "/bin:/usr/bin")


def _fault(program: bytes, cwd: bytes) -> CannotStart | None:
    """What forbids to execute this file, as far as can be seen without trying."""
    full = os.path.join(cwd, program)
    try:
        mode = os.stat(full).st_mode
    except OSError as error:
        reason = "not_executable" if isinstance(error, PermissionError) else "command_not_found"
        return CannotStart(reason, f"the command {_shown(full)} cannot be reached: {_why(error)}")
    if stat.S_ISDIR(mode):
        return CannotStart("not_executable", f"{_shown(full)} is a directory, not a program")
    if not stat.S_ISREG(mode) or not os.access(full, os.X_OK):
        return CannotStart("not_executable", f"{_shown(full)} is not executable")
    return None


# --- around the call


def _open_here() -> int:
    """Our working directory as a descriptor, which also leads back to one that was renamed or removed."""
    try:
        return os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:  # we could not come back to it: the root serves an owner just as well
        return os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _enter(cwd: bytes) -> None:
    try:
        os.chdir(cwd)
    except OSError as error:
        _require_directory(cwd)
        raise _no_directory(cwd, error) from error


def _niceness(nice: int) -> tuple[int, int]:
    """Our own niceness, and the one that `nice` makes of it."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    return own, max(-20, min(19, own + nice))


def _raise_priority(nice: int) -> Callable[[], None]:
    """For a negative `nice` take the priority ourselves, so that the child inherits it; returns the way back.

    Only this direction can be undone without a privilege, and it must be refused before anything is started.
    """
    if nice >= 0:
        return lambda: None
    own, wanted = _niceness(nice)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, wanted)
    except PermissionError as error:
        message = f"a niceness of {wanted} needs a privilege that the owner of the job does not have"
        raise CannotStart("start_refused", message) from error
    return lambda: os.setpriority(os.PRIO_PROCESS, 0, own)


def _lower_priority(pid: int, nice: int) -> None:
    """`posix_spawn` knows no niceness: the program has run for some microseconds when it gets its own."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, _niceness(nice)[1])
    except PermissionError:  # it has already changed its user (sudo)
        pass


# --- what went wrong


def _explain(error: OSError, executable: bytes, cwd: bytes) -> CannotStart:
    import errno  # only now: a waiting supervisor has no use for its 140 names

    full = os.path.join(cwd, executable)
    scripts = _interpreters(full, cwd)
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
        for script, interpreter in scripts:
            if not os.path.exists(interpreter):
                return _missing_interpreter(script, interpreter)
    elif isinstance(error, PermissionError):
        for script, interpreter in scripts:
            if not os.path.isfile(interpreter) or not os.access(interpreter, os.X_OK):
                message = (
                    f"{_shown(interpreter)}, the interpreter that {_shown(script)} names, is not executable"
                )
                return CannotStart("not_executable", message)
    elif error.errno == errno.ENOEXEC:
        message = f"{_shown(full)} has no #! line and is not a program that this machine can execute"
        return CannotStart("not_a_program", message)
    elif error.errno == errno.E2BIG:
        message = f"the arguments and environment for {_shown(full)} are longer than the system allows"
        return CannotStart("arguments_too_long", message)
    return _fault(executable, cwd) or _unforeseen(error, full)


def _missing_interpreter(script: bytes, interpreter: bytes) -> CannotStart:
    hint = "; the line ends as on Windows (CR LF)" if interpreter.endswith(b"\r") else ""
    message = f"the interpreter {_shown(interpreter)} that {_shown(script)} names does not exist{hint}"
    return CannotStart("interpreter_missing", message)


def _unforeseen(error: OSError, full: bytes) -> CannotStart:
    if isinstance(error, FileNotFoundError):  # the file is there, so it is what loads it that is not
        message = f"the program loader that {_shown(full)} was built for does not exist on this machine"
        return CannotStart("interpreter_missing", message)
    if isinstance(error, PermissionError):  # a file system that is mounted noexec, a security module
        return CannotStart("not_executable", f"{_shown(full)} may not be executed: {_why(error)}")
    return CannotStart("start_refused", f"{_shown(full)} could not be started: {_why(error)}")


def _interpreters(file: bytes, cwd: bytes) -> list[tuple[bytes, bytes]]:
    """The chain of (script, its interpreter): an interpreter may itself be a script."""
    chain: list[tuple[bytes, bytes]] = []
    while len(chain) < _SCRIPT_DEPTH:
        named = _named_interpreter(file)
        if not named:
            break
        chain.append((file, os.path.join(cwd, named)))
        file = chain[-1][1]
    return chain


def _named_interpreter(file: bytes) -> bytes:
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        head = os.read(fd, 256)  # as much as the kernel looks at
    except OSError:
        return b""
    finally:
        os.close(fd)
    if not head.startswith(b"#!"):
        return b""
    # The kernel separates at blanks and tabs only: a carriage return is part of the name.
    words = head[2:].split(b"\n")[0].replace(b"\t", b" ").split(b" ")
    return next((word for word in words if word), b"")


def _shown(path: bytes) -> str:
    """Quoted and printable, whatever bytes the path is made of."""
    return repr(os.fsdecode(path))


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()

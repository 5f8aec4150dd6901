"""All processes of one run, however far they have gone from their leader.

A process may leave its group and session, lose its parent, or be started without the environment; hardly ever
all at once. Three marks are looked for: a random cookie in the environment with which it was started, one of
the run's logs open for writing, and the session of the leader. Whoever has none of them (a supervisor that a
job submitted, for example) is no part of the run.

A subreaper is the process to which all descendants come back when their parent dies. So if it has no
children, nothing is left of any run, and the question costs one system call.
"""

from __future__ import annotations

# Not `signal`: that wraps the same functions in `enum`, which every waiting supervisor would pay for.
import _signal  # type: ignore[import-not-found]
import os
import time

from inturn.host import identity
from inturn.host.identity import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator

COOKIE = b"INTURN_COOKIE"
_PR_SET_CHILD_SUBREAPER = 36
_PEEK = os.WEXITED | os.WNOHANG | os.WNOWAIT
_CHUNK = 65536

# A directory has two links of its own, and one for each directory in it.
_LINKS_OF_ONE = 3

# For some microseconds a process that calls exec has no environment at all.
_EXEC_LOOKS = 20
_EXEC_PAUSE_S = 0.001


def become_subreaper() -> None:
    """Adopt all orphaned descendants from now on, and let their ends wait for us.

    Not inherited by a fork. Raises OSError.
    """
    # Not `ctypes`, which is 2 ms of a start: of it no more is needed than to call one function.
    import _ctypes

    if _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN:
        # Inherited from whoever started us: the kernel would throw away the exit status of every child.
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    if _ctypes.call_cdeclfunction(prctl, (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) != 0:
        raise OSError("this process cannot adopt the orphans of its jobs")


def has_children() -> bool:
    """Do we have any child, alive or not yet reaped? If not, nothing is left of what a subreaper started."""
    try:
        os.waitid(os.P_ALL, 0, _PEEK)
    except ChildProcessError:
        return False
    return True


def children() -> list[int]:
    """The pids of our children, those not yet reaped included."""
    found: list[int] = []
    try:
        for thread in _threads():
            found += map(int, _read(f"/proc/self/task/{thread}/children").split())
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        return [pid for pid in _all_pids() if _parent(pid) == os.getpid()]
    return found


def _threads() -> list[str]:
    """The numbers of our threads. Mostly there is one, which the count of links tells quicker than a list."""
    if os.stat("/proc/self/task").st_nlink == _LINKS_OF_ONE:
        return [str(os.getpid())]
    return os.listdir("/proc/self/task")


def reap(keep: Container[int]) -> None:
    """Bury the adopted children that have ended, but not the pids in `keep`: somebody waits for their end."""
    while (pid := _ended_child()) is not None:
        if pid in keep:
            # It is shown first until its owner reaps it, and may hide others.
            for other in children():
                if other not in keep:
                    _bury(other)
            return
        _bury(pid)


def members(
    token: str, log_files: Collection[tuple[int, int]], leader_session: int | None, not_before: int = 0
) -> list[Identity]:
    """The living processes of a run; never ourselves.

    `log_files` are device and inode of its logs; `leader_session` is None when the session's number may by
    now be someone else's. Processes that started before `not_before` (ticks, the leader's own start) cannot
    belong to it and cost only one look. One that forks at this moment may be missed: ask again until nobody
    is found.
    """
    cookie = b"\0%s=%s\0" % (COOKIE, token.encode())
    found = []
    for pid in _all_pids():
        fields = identity.stat_fields(pid)
        if fields is None or fields[4] < not_before or pid == os.getpid():
            continue
        if fields[3] == leader_session or _carries(pid, cookie) or _writes_to(pid, log_files):
            process = identity.of(pid)
            if process is not None and process.ticks == fields[4]:
                found.append(process)
    return found


def bearing(token: str, pids: Iterable[int]) -> list[Identity]:
    """Those of these processes that live and have the cookie of a run in their environment."""
    cookie = b"\0%s=%s\0" % (COOKIE, token.encode())
    found = (identity.of(pid) for pid in pids if _carries(pid, cookie))
    return [one for one in found if one is not None]


def bearers(cookies: Collection[bytes]) -> list[Identity]:
    """The living processes whose environment has one of these cookies; never ourselves."""
    return [process for process, cookie in marked() if cookie in cookies]


def marked() -> list[tuple[Identity, bytes]]:
    """The living processes that have a cookie in their environment, with it; never ourselves."""
    found = []
    for pid in _all_pids():
        process = None if pid == os.getpid() else identity.of(pid)
        if process is not None and (cookie := _cookie_of(pid)):
            found.append((process, cookie))
    return found


def signal_members(processes: Iterable[Identity], sig: int) -> None:
    """Signal exactly these processes; those that are gone or not ours to signal are passed over."""
    for process in processes:
        pidfd = identity.open_pidfd(process)
        if pidfd is None:
            continue
        try:
            identity.send(pidfd, sig)
        except PermissionError:  # it has changed its user (sudo)
            pass
        finally:
            os.close(pidfd)


def _ended_child() -> int | None:
    try:
        ended = os.waitid(os.P_ALL, 0, _PEEK)
    except ChildProcessError:
        return None
    return None if ended is None else ended.si_pid


def _bury(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def _parent(pid: int) -> int | None:
    fields = identity.stat_fields(pid)
    return None if fields is None else fields[1]


def _all_pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _carries(pid: int, cookie: bytes) -> bool:
    try:
        return cookie in b"\0" + _environment(pid)
    except OSError:  # gone, or not ours to read
        return False


def _cookie_of(pid: int) -> bytes:
    try:
        entries = _environment(pid).split(b"\0")
    except OSError:  # gone, or not ours to read
        return b""
    return next((entry[len(COOKIE) + 1 :] for entry in entries if entry.startswith(COOKIE + b"=")), b"")


def _environment(pid: int) -> bytes:
    path = f"/proc/{pid}/environ"
    for _ in range(_EXEC_LOOKS):
        environment = _read(path)
        if environment:
            return environment
        if not _is_in_exec(pid):
            break
        time.sleep(_EXEC_PAUSE_S)
    return _read(path)  # exec may have ended between the two looks


def _is_in_exec(pid: int) -> bool:
    """Has exec not laid out the arguments of this process yet? A kernel thread executes no file."""
    return os.path.lexists(f"/proc/{pid}/exe") and not _read(f"/proc/{pid}/cmdline")


def _writes_to(pid: int, log_files: Collection[tuple[int, int]]) -> bool:
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    return any(_is_log(pid, number, log_files) for number in descriptors)


def _is_log(pid: int, number: str, log_files: Collection[tuple[int, int]]) -> bool:
    try:
        file = os.stat(f"/proc/{pid}/fd/{number}")
        if (file.st_dev, file.st_ino) not in log_files:
            return False
        # Whoever only reads it (`inturn logs`, tail, a backup) is a bystander.
        return _open_flags(_read(f"/proc/{pid}/fdinfo/{number}")) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        return False


def _open_flags(fdinfo: bytes) -> int:
    for line in fdinfo.splitlines():
        if line.startswith(b"flags:"):
            return int(line[6:], 8)
    return os.O_RDONLY


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while chunk := os.read(fd, _CHUNK):
            data += chunk
        return data
    finally:
        os.close(fd)

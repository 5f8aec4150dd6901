"""Which process is meant, beyond a pid that may by now be someone else's.

A process is its pid, its start time in raw clock ticks, the boot and the pid namespace. Pids recur (32768 of
them on many machines), so an identity is checked before each signal, on a pidfd that was opened before.
"""

from __future__ import annotations

# Not `signal`: that wraps the same functions in `enum`, which every waiting supervisor would pay for.
import _signal  # type: ignore[import-not-found]
import os
import time

from inturn.host.clock import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NamedTuple

    Verdict = Literal["alive", "dead", "unknown"]
else:
    from inturn.core.records import NamedTuple

_LARGEST_PID = 2**31 - 1  # pid_t
_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_namespace: int | None = None


class Identity(NamedTuple):
    """One process for all time.

    `ticks` is its start time as the kernel gives it, `ns` the inode of the pid namespace that counts its pid.
    """

    pid: int
    ticks: int
    boot: str
    ns: int

    def text(self) -> str:
        """The form that is stored: `pid:ticks:boot:ns`."""
        return f"{self.pid}:{self.ticks}:{self.boot}:{self.ns}"


def parse(text: str) -> Identity:
    """The identity whose `text()` this is; ValueError if it is none."""
    parts = text.split(":")
    if len(parts) != 4 or not parts[2]:
        raise ValueError(f"not an identity of a process: {text!r}")
    pid, ticks, ns = (_natural(part, text) for part in (parts[0], parts[1], parts[3]))
    # kill(2) gives 0 and negative numbers a meaning of their own.
    if not 0 < pid <= _LARGEST_PID:
        raise ValueError(f"not an identity of a process: {text!r}")
    return Identity(pid, ticks, parts[2], ns)


def of(pid: int) -> Identity | None:
    """The identity of a living process, or None: there is none, it is a zombie, or /proc does not tell."""
    ns = _own_namespace()
    fields = stat_fields(pid) if ns else None
    if fields is None or _has_ended(fields[0]):
        return None
    return Identity(pid, fields[4], boot_id(), ns)


def of_child(pid: int, not_before: int, not_after: int) -> Identity | None:
    """The identity of a child of ours that was started between these two readings of `ticks`.

    It may have ended already: until we reap it, the pid is its own. Mostly both readings are the same, and
    then so is its start. None if /proc does not tell.
    """
    ns = _own_namespace()
    if not ns:
        return None
    if not_before == not_after >= 0:
        return Identity(pid, not_before, boot_id(), ns)
    fields = stat_fields(pid)
    return None if fields is None else Identity(pid, fields[4], boot_id(), ns)


def ticks() -> int:
    """The start time in raw clock ticks of a process that starts now; -1 if that cannot be told.

    As the kernel counts (fs/proc/array.c): the time since the boot, suspended or not, in whole ticks.
    """
    if _BOOT_CLOCK is None:
        return -1
    return time.clock_gettime_ns(_BOOT_CLOCK) // _NS_PER_TICK


def stat_fields(pid: int) -> tuple[str, int, int, int, int] | None:
    """State letter, parent, process group, session and start ticks; None if /proc shows no such process.

    The state is that of the whole process: one whose first thread has ended while others go on is not
    reported as the zombie that /proc makes of it, but as sleeping (S).
    """
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        line = os.read(fd, 4096)
    except OSError:  # it ended between the two calls
        return None
    finally:
        os.close(fd)
    # The name stands in parentheses and may itself hold spaces and parentheses; only numbers follow it.
    fields = line[line.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    state = fields[0].decode("ascii")
    if state == "Z" and int(fields[17]) > 1:
        state = "S"
    return state, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19])


def verify(identity: Identity) -> Verdict:
    """Is this very process alive? "unknown" whenever /proc cannot prove one or the other.

    Dead: gone, a zombie, its pid in other hands, or of another boot. Unknown: of another pid namespace, or
    hidden from us. A held lock outranks this verdict.
    """
    if identity.boot != boot_id():
        return "dead"
    if identity.ns != _own_namespace() or not identity.ns:
        return "unknown"
    fields = stat_fields(identity.pid)
    if fields is None:
        # /proc may hide processes (hidepid): only the kernel's "no such process" is proof.
        return "unknown" if _exists(identity.pid) else "dead"
    if fields[4] != identity.ticks or _has_ended(fields[0]):
        return "dead"
    return "alive"


def is_stopped(identity: Identity) -> bool:
    """Whether this very process is proven to be alive and stopped, as by SIGSTOP or Ctrl-Z."""
    fields = stat_fields(identity.pid)
    # Looked at before it is verified: that its pid has been recycled since would show.
    return fields is not None and fields[0] == "T" and verify(identity) == "alive"


def open_pidfd(identity: Identity) -> int | None:
    """A descriptor of exactly this process, or None if it is not proven alive. The caller closes it.

    The identity is verified after the descriptor was opened: had the pid been recycled before, the ticks
    would differ now; if it is recycled later, the descriptor still means the old process. Raises OSError if
    the system has no descriptor to give.
    """
    try:
        pidfd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    except OSError:
        # The number may have become that of a mere thread, for which there is no pidfd.
        if verify(identity) != "alive":
            return None
        raise
    if verify(identity) == "alive":
        return pidfd
    os.close(pidfd)
    return None


def send(pidfd: int, sig: int) -> bool:
    """Send a signal through a pidfd; False if the process is gone. PermissionError if it changed its user."""
    try:
        _signal.pidfd_send_signal(pidfd, sig)
    except ProcessLookupError:
        return False
    return True


def _own_namespace() -> int:
    """The inode of our pid namespace, or 0 if /proc does not show the processes by the pids that we know."""
    global _namespace
    if _namespace is None:
        try:
            # A namespace entered without a /proc of its own sees the pids of the outer one there.
            ours = os.readlink("/proc/self") == str(os.getpid())
            _namespace = os.stat("/proc/self/ns/pid").st_ino if ours else 0
        except OSError:
            _namespace = 0
    return _namespace


def _has_ended(state: str) -> bool:
    return state in ("Z", "X", "x")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, and belongs to another user
        pass
    return True


def _natural(digits: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"not an identity of a process: {text!r}")
    return int(digits)

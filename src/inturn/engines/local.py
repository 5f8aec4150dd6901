"""Runs as child processes on this machine.

A run is a session of its own. Its leader is reaped by the `poll` that sees its end, because only that gives
the resources it used at once; from then on its pid may be someone else's, so whoever is left of the run is
found by its marks (`host.tree`) and signalled by verified identity, never by the number of the group. An
owner that wants the group dead together with the leader signals it before `poll` has reported the end.
"""

from __future__ import annotations

# Not `signal`: that wraps the same functions in `enum`, which every waiting supervisor would pay for.
import _signal  # type: ignore[import-not-found]
import errno
import os
import stat

from inturn.engines.base import Ended, Launch, StartFailed
from inturn.host import clock, identity, logs, spawn, tree
from inturn.host.identity import Identity
from inturn.host.logs import FileId, Sampler, Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from resource import struct_rusage
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

_TERMINAL = 0
_LOST = Ended(None, None, 0, 0, 0)

# How often we look again because processes were forked while we looked.
_SWEEPS = 20


class NativeId(NamedTuple):
    """What is stored of a run: its leader, and which files its logs are (a replaced log proves nothing)."""

    leader: Identity
    log_files: tuple[FileId, ...]

    def text(self) -> str:
        """The form that is stored."""
        return " ".join([self.leader.text(), *(f"{dev}:{ino}" for dev, ino in self.log_files)])


def parse_native_id(text: str) -> NativeId:
    """The native id whose `text()` this is; ValueError if it is none."""
    leader, *files = text.split(" ")
    log_files = []
    for file in files:
        dev, _, ino = file.partition(":")
        if not (dev.isdecimal() and ino.isdecimal()):
            raise ValueError(f"not the id of a local run: {text!r}")
        log_files.append((int(dev), int(ino)))
    return NativeId(identity.parse(leader), tuple(log_files))


class LocalEngine:
    """Starts runs as our children. Their orphans become our children too, from the first start on."""

    name = "local"

    def __init__(self) -> None:
        self._is_subreaper = False

    def start(self, launch: Launch) -> LocalRun:
        """Start the program; what it prints goes to the logs without passing through us.

        Raises StartFailed.
        """
        if not self._is_subreaper:
            tree.become_subreaper()
            self._is_subreaper = True
        try:
            return _start(launch)
        except ValueError as error:  # a NUL byte in an argument, a variable without a name
            raise StartFailed("start_refused", f"the system cannot be given this command: {error}") from error


class Child:
    """The leader as our own child: nobody but us can reap it, so until then its pid is safe to use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ended: Ended | None = None

    def collect(self) -> Ended | None:
        """The end, or None while it runs."""
        if self._ended is None:
            try:
                collected = spawn.collect(self.pid)
            except ChildProcessError:  # somebody else reaped it, and the result with it
                self._ended = _LOST
            else:
                self._ended = None if collected is None else _ended(*collected)
        return self._ended

    def signal_group(self, sig: int) -> bool:
        """Signal the whole group; False if nobody got it, because the leader has been reaped."""
        if self._ended is not None:
            return False
        try:
            os.killpg(self.pid, sig)
        except PermissionError:  # every one of them has changed its user (sudo)
            return False
        return True


class LocalRun:
    """A run whose leader is watched through a pidfd; how its result is learned is the leader's business."""

    def __init__(self, leader: Child, pidfd: int, native: NativeId, launch: Launch, executable: str) -> None:
        self.native_id = native.text()
        self.executable = executable
        self._leader = leader
        self._pidfd = pidfd
        self._native = native
        self._token = launch.token
        self._stem = launch.log
        self._sampler = Sampler(launch.log, native.log_files)
        self._session: int | None = native.leader.pid
        self._known: list[Identity] = []

    def fileno(self) -> int:
        """A descriptor that becomes readable when the leader has ended."""
        return self._pidfd

    def poll(self) -> Ended | None:
        """The end of the leader, or None while it runs; reaps it."""
        return self._leader.collect()

    def signal(self, sig: int) -> None:
        """Signal the group of the leader while that has not been reaped."""
        self._leader.signal_group(sig)

    def leftovers(self) -> bool:
        """Is anything of this run alive? A process that we cannot identify counts if it holds the logs."""
        if self.poll() is None:
            return True
        # While somebody is known to live, there is no need to look at every process of the machine.
        if any(identity.verify(process) == "alive" for process in self._known):
            return True
        self._known = []
        strangers = _strangers()
        for _ in range(_SWEEPS):
            if not strangers:
                return False
            self._known = self._members()
            if self._known or logs.alive(self._stem, self._native.log_files) == "held":
                return True
            before, strangers = strangers, _strangers()
            # Who forks and ends while we look is not seen, nor is the child; but that has become ours.
            if strangers <= before:
                return False
        return True

    def signal_tree(self, sig: int) -> None:
        """Signal each process of this run once, also those that are forked in the meantime."""
        # First of all, and without a look at the leader: that might reap it, and give its group away.
        reached = self._leader.signal_group(sig)
        signalled: set[Identity] = set()
        for _ in range(_SWEEPS):
            found = self._members()
            fresh = [one for one in found if one not in signalled and not (reached and self._in_group(one))]
            if not fresh:
                break
            tree.signal_members(fresh, sig)
            signalled.update(fresh)
        self._known = found

    def sample(self) -> None:
        """Note the length of the logs, and bury orphans of this owner that have ended meanwhile."""
        self._sampler.sample(clock.now().wall)
        tree.reap(spawn.awaited)

    def close(self) -> None:
        """Close the descriptors; remove logs that are empty and have no writer any more."""
        if self._pidfd < 0:
            return
        os.close(self._pidfd)
        self._pidfd = -1
        self._sampler.close(clock.now().wall)
        logs.remove_empty(self._stem)

    def _members(self) -> list[Identity]:
        leader = self._native.leader
        ended = self.poll() is not None
        # The kernel gives a number to nobody else while it is the session of somebody.
        if ended and identity.stat_fields(leader.pid) is not None:
            self._session = None
        found = tree.members(self._token, self._native.log_files, self._session, leader.ticks)
        if ended and not any(self._in_session(process) for process in found):
            self._session = None
        return found

    def _in_group(self, process: Identity) -> bool:
        fields = identity.stat_fields(process.pid)
        return fields is not None and fields[2] == self._native.leader.pid

    def _in_session(self, process: Identity) -> bool:
        fields = identity.stat_fields(process.pid)
        return fields is not None and fields[3] == self._session


def _start(launch: Launch) -> LocalRun:
    executable = spawn.resolve(launch.argv[0], launch.env.get(b"PATH"), launch.cwd)
    stdin = _TERMINAL if launch.keep_stdin else _open_stdin(launch)
    try:
        streams = _open_logs(launch)
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
    pidfd = _watch(pid)
    native = NativeId(_identity_of_child(pid), streams.ids)
    return LocalRun(Child(pid), pidfd, native, launch, os.fsdecode(os.path.join(launch.cwd, executable)))


def _spawn(launch: Launch, executable: bytes, stdin: int, streams: Streams) -> int:
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


def _open_stdin(launch: Launch) -> int:
    path = os.path.join(launch.cwd, launch.stdin or b"/dev/null")
    try:
        # A pipe must not keep us waiting for its writer, nor a terminal become ours.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        reason = "start_refused" if error.errno in (errno.EMFILE, errno.ENFILE) else "stdin_missing"
        raise StartFailed(reason, _unreadable(path, error.strerror or "")) from error
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        raise StartFailed("stdin_missing", _unreadable(path, os.strerror(errno.EISDIR)))
    os.set_blocking(fd, True)
    return fd


def _unreadable(path: bytes, why: str) -> str:
    return f"the input file {os.fsdecode(path)!r} cannot be read: {why.lower()}"


def _open_logs(launch: Launch) -> Streams:
    try:
        return logs.open_streams(launch.log, launch.merge)
    except OSError as error:
        message = f"the log {error.filename!r} cannot be opened: {(error.strerror or '').lower()}"
        raise StartFailed("log_unavailable", message) from error


def _strangers() -> set[int]:
    """Our children that we have not started: orphans of some run."""
    tree.reap(spawn.awaited)
    return set(tree.children()) - spawn.awaited if tree.has_children() else set()


def _watch(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except OSError as error:  # what cannot be watched must not run on
        os.killpg(pid, _signal.SIGKILL)
        os.waitpid(pid, 0)
        spawn.awaited.discard(pid)
        raise StartFailed("start_refused", f"the process cannot be watched: {error.strerror}") from error


def _identity_of_child(pid: int) -> Identity:
    """Like `identity.of`, also of a child that has ended already: until it is reaped, the pid is its own."""
    found = identity.of(pid)
    if found is not None:
        return found
    ourselves = identity.of(os.getpid())
    fields = identity.stat_fields(pid)
    return Identity(pid, fields[4] if fields else 0, clock.boot_id(), ourselves.ns if ourselves else 0)


def _ended(status: int, usage: struct_rusage) -> Ended:
    code = os.waitstatus_to_exitcode(status)
    return Ended(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        user_us=round(usage.ru_utime * 1_000_000),
        system_us=round(usage.ru_stime * 1_000_000),
        max_rss=usage.ru_maxrss * 1024,  # the kernel counts in KiB
    )

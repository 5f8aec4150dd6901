"""One run as a tree of processes on this machine, whoever started it.

A run is a session of its own. A leader that is our child is reaped by the `poll` that sees its end, because
only that gives the resources it used at once; from then on its pid may be someone else's, so whoever is left
of the run is found by its marks (`host.tree`) and signalled by verified identity, never by the number of the
group. An owner that wants the group dead together with the leader signals it before `poll` has reported the
end.
"""

from __future__ import annotations

import os

from inturn.core.decide import Ended
from inturn.engines import orphans
from inturn.host import clock, identity, logs, spawn, tree
from inturn.host.identity import Identity
from inturn.host.logs import FileId, Sampler
from inturn.host.room import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from resource import struct_rusage
    from typing import NamedTuple

    from inturn.engines.adopted import Adoptee
else:
    from inturn.core.records import NamedTuple

_LOST = Ended(None, None, 0, 0, 0)

# How often `signal_tree` looks for processes that were forked while it looked.
_SWEEPS = 20

# So many of these that find nobody new are believed, though there are orphans that may be of another run.
_QUIET_SWEEPS = 3


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


class Child:
    """The leader as our own child: nobody but us can reap it, so until then its pid is safe to use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # As how-manieth of the leaders it was reaped; 0 if that was done by somebody else.
        self.reaped_as = 0
        self._ended: Ended | None = None

    def collect(self) -> Ended | None:
        """The end, or None while it runs."""
        if self._ended is None:
            try:
                collected = spawn.collect(self.pid)
            except ChildProcessError:  # somebody else reaped it, and the result with it
                self._ended = _LOST
            else:
                if collected is not None:
                    self._ended = _ended(*collected)
                    self.reaped_as = orphans.note_reaped()
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

    def __init__(
        self,
        leader: Child | Adoptee,
        pidfd: int,
        native: NativeId,
        token: str,
        log: str,
        executable: str,
        ours: bool = True,
        on_over: Callable[[str], None] = logs.remove_empty,
    ) -> None:
        """`ours`: its orphans become our children, so that having none proves that nothing is left.

        `on_over` is told the stem of the logs when the run is over and nobody is left of it.
        """
        self.native_id = native.text()
        self.executable = executable
        self._leader = leader
        self._pidfd = pidfd
        self._native = native
        self._token = token
        self._stem = log
        self._ours = ours
        self._on_over = on_over
        self._sampler = Sampler(log, native.log_files)
        self._room = Room(log, native.log_files)
        # A leader that had gone before we came may have left its number to somebody else.
        self._session = native.leader.pid if pidfd >= 0 else None
        self._known: list[Identity] = []
        self._nobody_left = False
        self._closed = False

    def fileno(self) -> int:
        """A descriptor that becomes readable when the leader has ended."""
        return self._pidfd

    @property
    def log_incomplete(self) -> bool:
        """Whether at some look there was no room for what it wrote; looks once more, after its end."""
        return self._room.has_lacked()

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
        if not self._ours:
            self._known = self._members()
            return bool(self._known) or logs.alive(self._stem, self._native.log_files) == "held"
        if orphans.left_nobody(self._leader.reaped_as):
            self._nobody_left = True
            return False
        strangers = orphans.strangers()
        for _ in range(_SWEEPS):
            if not strangers:
                orphans.note_none()
                self._nobody_left = True
                return False
            # Our own children are quickly asked, before one that flees has gone on.
            self._known = tree.bearing(self._token, strangers) or self._members()
            if self._known or logs.alive(self._stem, self._native.log_files) == "held":
                return True
            before, strangers = strangers, orphans.strangers()
            # Who forks and ends while we look is not seen, nor is the child; but that has become ours.
            if strangers <= before:
                return False
        return True

    def signal_tree(self, sig: int) -> bool:
        """Signal each process of this run once, also those that are forked in the meantime.

        Returns whether all that are not in the leader's group stood still before.
        """
        # First of all, and without a look at the leader: that might reap it, and give its group away.
        reached = self._leader.signal_group(sig)
        signalled: set[Identity] = set()
        still = True
        quiet = 0
        for _ in range(_SWEEPS):
            before = len(signalled)
            # Our own children are quickly asked, before one that flees has gone on.
            for look in (self._orphans, self._members):
                found = look()
                fresh = [
                    one for one in found if one not in signalled and not (reached and self._in_group(one))
                ]
                still = still and not any(map(_moves, fresh))
                tree.signal_members(fresh, sig)
                signalled.update(fresh)
            quiet = 0 if len(signalled) > before else quiet + 1
            if quiet == _QUIET_SWEEPS or (quiet and not self._may_hide_somebody(found)):
                break
        self._known = found
        return still

    def _orphans(self) -> list[Identity]:
        """Those of the run that have become our children."""
        return tree.bearing(self._token, orphans.strangers()) if self._ours else []

    def _may_hide_somebody(self, found: list[Identity]) -> bool:
        """Whether there are orphans besides those found: one that forks and ends at once is hard to meet."""
        return self._ours and not orphans.strangers() <= {one.pid for one in found}

    def sample(self) -> None:
        """Note the length of the logs, and bury orphans of this owner that have ended meanwhile."""
        self._sampler.sample(clock.now().wall)
        self._room.lacked()
        tree.reap(spawn.awaited)

    def close(self, over: bool = True) -> None:
        """Close the descriptors; if it is over, remove logs that are empty and have no writer any more."""
        if self._closed:
            return
        self._closed = True
        if self._pidfd >= 0:
            os.close(self._pidfd)
        self._sampler.close(clock.now().wall)
        if over:
            on_over = self._on_over if self._nobody_left else logs.remove_empty
            on_over(self._stem)

    def _members(self) -> list[Identity]:
        leader = self._native.leader
        ended = self.poll() is not None
        # The kernel gives a number to nobody else while it is the session of somebody.
        if ended and identity.stat_fields(leader.pid) is not None:
            self._session = None
        files = logs.present(self._stem, self._native.log_files)
        found = tree.members(self._token, files, self._session, leader.ticks)
        if ended and not any(self._in_session(process) for process in found):
            self._session = None
        return found

    def _in_group(self, process: Identity) -> bool:
        fields = identity.stat_fields(process.pid)
        return fields is not None and fields[2] == self._native.leader.pid

    def _in_session(self, process: Identity) -> bool:
        fields = identity.stat_fields(process.pid)
        return fields is not None and fields[3] == self._session


def _ended(status: int, usage: struct_rusage) -> Ended:
    code = os.waitstatus_to_exitcode(status)
    return Ended(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        user_us=round(usage.ru_utime * 1_000_000),
        system_us=round(usage.ru_stime * 1_000_000),
        max_rss=usage.ru_maxrss * 1024,  # the kernel counts in KiB
    )


def _moves(process: Identity) -> bool:
    fields = identity.stat_fields(process.pid)
    return fields is not None and fields[0] in ("R", "S")

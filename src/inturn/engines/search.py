"""Finding a run whose owner died, by what was stored of it and by what it cannot help leaving behind.

A held log proves life. Death needs all of it: the leader gone, no process that carries the run's cookie or
writes to its logs, and logs that nobody holds.
"""

from __future__ import annotations

import os

from inturn.engines.adopted import Adoptee
from inturn.engines.base import Found
from inturn.engines.process import LocalRun, NativeId, parse_native_id
from inturn.host import clock, identity, logs, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.host.identity import Identity


def find(native_id: str, token: str, log: str) -> Found:
    """What became of a run; see `engines.base.Engine.find`."""
    if not native_id:
        return _find_unbound(token, log)
    native = parse_native_id(native_id)
    leader = native.leader
    if identity.verify(leader) == "unknown":
        return Found("unknown")
    fields = identity.stat_fields(leader.pid) if leader.boot == clock.boot_id() else None
    if fields is not None and fields[4] == leader.ticks:
        return _adopt(native, token, log)
    return _left_behind(native, token, log)


def _adopt(native: NativeId, token: str, log: str) -> Found:
    """Watch a leader that lives, or that nobody has reaped yet."""
    pid = native.leader.pid
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return _left_behind(native, token, log)
    fields = identity.stat_fields(pid)
    if fields is None or fields[4] != native.leader.ticks:  # the pid has changed hands since
        os.close(pidfd)
        return _left_behind(native, token, log)
    adoptee = Adoptee(native.leader, pidfd)
    return Found("alive", LocalRun(adoptee, pidfd, native, token, log, "", ours=False))


def _left_behind(native: NativeId, token: str, log: str) -> Found:
    """The leader is gone; what it left may be alive."""
    members = tree.members(token, logs.present(log, native.log_files), None, native.leader.ticks)
    if not members and logs.alive(log, native.log_files) != "held":
        return Found("gone", rebooted=native.leader.boot != clock.boot_id())
    return Found("alive", LocalRun(Adoptee(native.leader, -1), -1, native, token, log, "", ours=False))


def _find_unbound(token: str, log: str) -> Found:
    """The owner died between reserving the run and storing what it started, if it started anything."""
    files = logs.file_ids(log)
    members = tree.members(token, files, None)
    leader = _leader_among(members)
    if leader is not None:
        return _adopt(NativeId(leader, files), token, log)
    if members or logs.alive(log, None) == "held":
        # It has no leader any more, or one that we cannot see.
        return _left_behind(NativeId(members[0], files), token, log) if members else Found("unknown")
    return Found("gone" if files else "never")


def _leader_among(members: list[Identity]) -> Identity | None:
    """The process that began the run's session."""
    for process in members:
        fields = identity.stat_fields(process.pid)
        if fields is not None and fields[3] == process.pid:
            return process
    return None

"""A leader that is not our child: its owner died, and we watch it through a pidfd.

Its exit status comes from /proc while it is a zombie, else from the pidfd, which the kernel can ask for it
since Linux 6.15; else nobody will ever know it.
"""

from __future__ import annotations

import fcntl
import os

from inturn.core.decide import Ended
from inturn.host import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.host.identity import Identity

UNKNOWN = Ended(None, None)

# ioctl(pidfd, PIDFD_GET_INFO, struct pidfd_info): <QQ11Ii, whose last member is the raw wait status.
_GET_INFO = 0xC040FF0B
_INFO_SIZE = 64
_WANT_EXIT = 1 << 3
_STATUS_OFFSET = 60

# Field 52 of /proc/PID/stat, counted behind the name: the raw wait status of a zombie.
_STATUS_FIELD = 49


class Adoptee:
    """The leader of a run that somebody else started."""

    reaped_as = 0  # see `engines.process.Child`

    def __init__(self, leader: Identity, pidfd: int) -> None:
        self._leader = leader
        self._pidfd = pidfd
        self._ended: Ended | None = UNKNOWN if pidfd < 0 else None

    def collect(self) -> Ended | None:
        """The end, or None while it runs."""
        if self._ended is None:
            self._ended = self._look()
        return self._ended

    def _look(self) -> Ended | None:
        fields = identity.stat_fields(self._leader.pid)
        ours = fields is not None and fields[4] == self._leader.ticks
        if ours and fields is not None and fields[0] not in ("Z", "X", "x"):
            return None
        status = _zombie_status(self._leader.pid) if ours else None
        if status is None:
            status = _reaped_status(self._pidfd)
        return UNKNOWN if status is None else _ended(status)

    def signal_group(self, sig: int) -> bool:  # noqa: ARG002
        """Nobody but its parent may trust the number of a group: its members are signalled one by one."""
        return False


def _zombie_status(pid: int) -> int | None:
    """The wait status of a zombie that nobody has reaped; unknown of one that belongs to another user."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
        # It would read as 0 to us.
        if os.geteuid() not in (0, os.stat(f"/proc/{pid}").st_uid):
            return None
    except OSError:
        return None
    fields = line[line.rfind(b")") + 2 :].split()
    if len(fields) <= _STATUS_FIELD or fields[0] != b"Z":
        return None
    return int(fields[_STATUS_FIELD])


def _reaped_status(pidfd: int) -> int | None:
    """The wait status of a process that has been reaped, if the kernel keeps it for its pidfds."""
    request = bytearray(_INFO_SIZE)
    request[:8] = _WANT_EXIT.to_bytes(8, "little")
    try:
        fcntl.ioctl(pidfd, _GET_INFO, request)
    except OSError:
        return None
    if not int.from_bytes(request[:8], "little") & _WANT_EXIT:
        return None
    return int.from_bytes(request[_STATUS_OFFSET : _STATUS_OFFSET + 4], "little")


def _ended(status: int) -> Ended:
    code = os.waitstatus_to_exitcode(status)
    return Ended(code, None) if code >= 0 else Ended(None, -code)

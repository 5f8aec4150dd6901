"""Starting a process that outlives us: own session, no terminal, nothing inherited but what it is given."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

# The descriptors that a detached process finds open, beside /dev/null as its standard ones.
LOCK_FD = 3
GO_FD = 4
ANSWER_FD = 5

_STANDARD = 2

# Out of the way of the descriptors above while they are being set up.
_HIGH = 10

READY = b"+"


class Detached(NamedTuple):
    """A detached process that waits for our word on `go` and will write its answer to `answer`."""

    pid: int
    go: int
    answer: int


def start(command: tuple[str, ...], environment: dict[str, str], lock: int) -> Detached:
    """Start a detached process, which holds the lock `lock` from now on.

    It is to read GO_FD until it ends or gives a byte, and to write READY, or an error message, to ANSWER_FD.
    Raises OSError if it cannot be started.
    """
    from fcntl import F_DUPFD_CLOEXEC, fcntl  # a supervisor, of which this file is a part, starts none

    opened: list[int] = []
    try:
        opened += os.pipe()
        opened += os.pipe()
        go_read, go, answer, answer_write = opened
        for fd in (lock, go_read, answer_write):
            opened.append(fcntl(fd, F_DUPFD_CLOEXEC, _HIGH))
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ]
        actions += [
            (os.POSIX_SPAWN_DUP2, source, target)
            for source, target in zip(opened[4:], (LOCK_FD, GO_FD, ANSWER_FD), strict=True)
        ]
        pid = os.posix_spawn(
            command[0],
            command,
            environment,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=_SIGNALS,
        )
        # What is left in the list is not for us.
        del opened[1:3]
        return Detached(pid, go, answer)
    finally:
        for fd in opened:
            os.close(fd)


# All that can be caught: whoever submits under nohup ignores some, and ignored signals are inherited.
_SIGNALS = tuple(number for number in range(1, 32) if number not in (9, 19))


def keep_inherited_from_children() -> None:
    """In a process that runs jobs: what came along from its shell is not for them."""
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > _STANDARD:
            try:
                os.set_inheritable(fd, False)
            except OSError:
                pass  # It was the one that listed them.


def settle_down() -> None:
    """In the detached process: give up what came along from the submitter: descriptors, directory, umask.

    The lock above all is not passed on: a target that held it would be taken for its owner.
    """
    os.closerange(ANSWER_FD + 1, 1 << 20)
    for fd in (LOCK_FD, GO_FD, ANSWER_FD):
        os.set_inheritable(fd, False)
    os.chdir("/")
    os.umask(0o077)

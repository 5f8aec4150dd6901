"""Hints between processes: a byte in the FIFO of the owner concerned, and the sleep that it interrupts.

A hint may be lost, doubled or late. Nothing depends on it: every owner also polls.
"""

from __future__ import annotations

import os
import stat

from inturn.host import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_LONGEST_POLL_MS = 2**31 - 1  # poll(2) takes an int: 24 days
_WHOLE_PIPE = 65_536  # bytes that a pipe holds unless told otherwise


def create(path: str) -> int:
    """Create the FIFO of an owner (0600) and open it; returns the descriptor to wait for.

    It is opened for writing as well: so it never reports the end of the file when the last ringer has gone.
    If the directory is missing from a store, it is made again. Raises FileExistsError if anything has that
    name, OSError if it cannot be created.
    """
    paths.create_within(path, lambda name: os.mkfifo(name, 0o600))
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)


def ring(path: str) -> None:
    """Wake the owner of this FIFO, if it is there. Never waits, never fails, follows no link.

    Call it after the commit that it announces: who is woken earlier sees the old state and sleeps again.
    """
    from inturn.host import faults  # who has committed has loaded it; who only looks has no use for it

    if faults.hints_are_lost:
        return
    try:
        # Opened for both ways: if the owner died in between, a write would otherwise raise SIGPIPE.
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        found = os.fstat(fd)
        if stat.S_ISFIFO(found.st_mode) and found.st_uid == os.geteuid():
            os.write(fd, b"\0")
    except OSError:  # full: it has hints enough
        pass
    finally:
        os.close(fd)


def ringer(directory: str) -> Callable[[Iterable[str]], None]:
    """What wakes owners of a store by their tokens, to be called after a commit that concerns them."""

    def ring_all(tokens: Iterable[str]) -> None:
        for token in tokens:
            ring(paths.owner_files(directory, token)[1])

    return ring_all


def drain(fd: int) -> None:
    """Take all hints out of the FIFO. Do it before looking at the store: what comes later rings again."""
    try:
        os.read(fd, _WHOLE_PIPE)
    except BlockingIOError:
        pass


def wait(fds: Sequence[int], timeout_us: int | None) -> set[int]:
    """Sleep until a descriptor has something to tell, at most `timeout_us` microseconds (None: without end).

    Returns the descriptors that are readable, hung up, in error or closed; none after the timeout. It is
    rounded up to a millisecond, so that a deadline has passed when it is over, and capped at 24 days: look at
    the clock again. A signal whose handler returns does not end the sleep.
    """
    import select  # who only rings does not need it

    sleeper = select.poll()
    for fd in fds:
        sleeper.register(fd, select.POLLIN)
    return {fd for fd, _ in sleeper.poll(_milliseconds(timeout_us))}


def _milliseconds(timeout_us: int | None) -> int | None:
    if timeout_us is None:
        return None
    return min(max(-(-timeout_us // 1000), 0), _LONGEST_POLL_MS)

"""Files that grow, shown on a descriptor of ours while they do, at the pace of whoever reads there.

Whoever shows has more to do than that. So a reader that dawdles holds it up for a moment only, and nothing
that the descriptor or the file answers is raised: what cannot be shown is in the file all the same.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import time

# A pipe that has room at all takes so many bytes at once, without having us wait.
_AT_ONCE = select.PIPE_BUF

_NS_IN_US, _NS_IN_MS = 1_000, 1_000_000


class Showing:
    """What goes to the descriptor `target`, one file after the other.

    `refusal`: what it has answered to a write, after which nothing more is written there.
    """

    def __init__(self, target: int) -> None:
        self.refusal: OSError | None = None
        self._target = target
        self._path = ""
        self._shown = 0

    def show(self, path: str, patience: int) -> bool:
        """Write what the file has and was not written yet, for at most `patience` microseconds.

        Returns whether that was all. Of a file that is gone, or cannot be read, there is nothing to show; nor
        is there on a descriptor that refuses it.
        """
        if path != self._path:
            self._path, self._shown = path, 0
        if self.refusal is not None:
            return True
        try:
            # Whatever lies there instead of the file must not keep us waiting.
            source = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return True
        try:
            return self._copy(source, time.monotonic_ns() + patience * _NS_IN_US)
        finally:
            os.close(source)

    def _copy(self, source: int, until: int) -> bool:
        room = select.poll()
        room.register(self._target, select.POLLOUT)
        while self.refusal is None and (data := _read(source, self._shown)):
            left = until - time.monotonic_ns()
            # Also a reader that always has room is left for a while. One that has gone answers to the write.
            if left <= 0:
                return False
            if room.poll(-(-left // _NS_IN_MS)):
                self._shown += self._write(data)
            elif not _is_for_writing(self._target):
                # It would never have room.
                self.refusal = OSError(errno.EBADF, os.strerror(errno.EBADF))
        return True

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self._target, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            self.refusal = error
            return 0


def _is_for_writing(fd: int) -> bool:
    return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def _read(source: int, start: int) -> bytes:
    try:
        return os.pread(source, _AT_ONCE, start)
    except OSError:
        return b""

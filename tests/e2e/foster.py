"""Orphans that come to the test: it sees when they end, and decides when their ends are collected."""

from __future__ import annotations

import ctypes
import os
import signal

from tests.e2e.harness import DEADLINE, until

_PR_SET_CHILD_SUBREAPER = 36


class Foster:
    """Makes this process the one to which all orphans of its descendants come, until it is closed.

    So a supervisor whose submitter has ended is a child of the test, and so is the target of one that was
    killed: it stays a zombie, as it would under an init that does not reap, until `bury` is called.
    """

    def __init__(self) -> None:
        become_subreaper(True)

    def close(self) -> None:
        """Collect what has ended, and take no more."""
        become_subreaper(False)
        self.bury()

    def kill(self, pid: int) -> None:
        """Kill a process that came to us with -9 and bury it."""
        os.kill(pid, signal.SIGKILL)
        assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT) is not None
        os.waitpid(pid, 0)

    def stop(self, pid: int) -> None:
        """Stop a process that came to us, and wait until it is."""
        os.kill(pid, signal.SIGSTOP)
        assert os.waitid(os.P_PID, pid, os.WSTOPPED) is not None

    def await_zombie(self, pid: int) -> None:
        """Wait until a process that came to us has ended, and leave its end where it is."""
        assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT) is not None

    def bury(self) -> None:
        """Collect all that have ended."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return


def await_death(pid: int) -> None:
    """Wait until a process that is nobody's of ours has ended, whether or not it was reaped."""

    def ended() -> bool:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
        except FileNotFoundError:
            return True

    until(ended, f"the end of process {pid}", DEADLINE)


def become_subreaper(yes: bool) -> None:
    """Have orphans of our descendants come to us, or not any more."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(yes), 0, 0, 0) == 0, ctypes.get_errno()

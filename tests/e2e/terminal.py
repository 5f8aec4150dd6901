"""What a command shows to a person."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from collections.abc import Mapping

from tests.e2e.harness import DEADLINE, Cli, Result


def at_a_terminal(
    cli: Cli, *words: str, columns: int = 200, env: Mapping[str, str | None] | None = None
) -> Result:
    """Run one command to its end with a terminal for all its streams; `out` is what was shown there.

    The terminal does not touch what is written: lines end with a newline alone.
    """
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    process = cli.popen(*words, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return Result(words, process.wait(timeout=DEADLINE), shown, b"")


def _read(terminal: int) -> bytes:
    """What has been written to a terminal; nothing once nobody has it open any more."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""

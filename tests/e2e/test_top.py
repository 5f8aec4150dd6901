"""The live views at a real terminal, which is as it was when they have ended, however that came about."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.harness import DEADLINE, INTURN, Cli

ALTERNATE_ON, ALTERNATE_OFF = b"\x1b[?1049h", b"\x1b[?1049l"
CURSOR_OFF, CURSOR_ON = b"\x1b[?25l", b"\x1b[?25h"


class Terminal:
    """A terminal of its own, the controlling one of a command of inturn that runs in it."""

    def __init__(self, cli: Cli, *words: str, columns: int = 100, lines: int = 30) -> None:
        self._master, self._slave = pty.openpty()
        self._resize(columns, lines)
        self.settings = self._settings()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", INTURN, *words],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env=cli.environment({"TERM": "xterm-256color"}),
            cwd=cli.root,
        )
        self.seen = b""

    def _resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _settings(self) -> list[Any]:
        return termios.tcgetattr(self._slave)

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def shows(self, *texts: bytes) -> None:
        """Read until all these have come."""
        end = time.monotonic() + DEADLINE
        while not all(text in self.seen for text in texts):
            assert time.monotonic() < end, f"not seen: {texts}; but {self.seen[-3000:]!r}"
            self._read()

    def _read(self) -> None:
        if select.select([self._master], [], [], 0.05)[0]:
            self.seen += os.read(self._master, 1 << 16)

    def ends(self) -> int:
        """Read on to the end of the command; its exit code."""
        end = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it did not end: {self.seen[-3000:]!r}"
            self._read()
        while select.select([self._master], [], [], 0)[0]:
            self._read()
        return self.process.wait()

    def is_restored(self) -> bool:
        last = self.seen.rfind
        return (
            self._settings() == self.settings
            and last(ALTERNATE_OFF) >= last(ALTERNATE_ON)
            and last(CURSOR_ON) >= last(CURSOR_OFF)
        )

    def hang_up(self) -> None:
        """Close the window."""
        for fd in (self._master, self._slave):
            if fd >= 0:
                os.close(fd)
        self._master = self._slave = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.hang_up()


@pytest.fixture
def job(cli: Cli) -> int:
    return cli.run("add", "--name", "lookatme", "--", "true").id


@pytest.fixture
def top(cli: Cli, job: int) -> Iterator[Terminal]:
    terminal = Terminal(cli, "top")
    terminal.shows(ALTERNATE_ON, b"lookatme")
    yield terminal
    terminal.close()


def test_top_shows_the_job_and_q_ends_it(top: Terminal) -> None:
    top.press(b"q")
    assert top.ends() == 0
    assert top.is_restored()


def test_a_key_reaches_the_job(cli: Cli, top: Terminal, job: int) -> None:
    top.press(b"p")
    top.shows(b"1 paused")
    assert cli.phase(job) == "paused"
    top.press(b"q")
    assert top.ends() == 0


def test_what_is_typed_behind_a_slash_is_what_is_looked_for(top: Terminal) -> None:
    top.press(b"/usr/bin/nothing\r")
    top.shows(b"with 'usr/bin/nothing'")
    top.press(b"\x03")
    assert top.ends() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_top_and_restores_the_terminal(top: Terminal, number: signal.Signals) -> None:
    top.process.send_signal(number)
    assert top.ends() == 128 + number
    assert top.is_restored()


def test_a_closed_terminal_ends_top(top: Terminal) -> None:
    top.hang_up()
    top.process.wait(DEADLINE)


def test_without_a_terminal_top_says_so(cli: Cli) -> None:
    assert b"a view for a terminal" in cli.run("top").check(2).err
    assert cli.run("top", "--json").check(2).json["error"]["code"] == "usage"


def test_without_its_library_top_says_what_to_install(cli: Cli) -> None:
    (cli.root / "textual").mkdir()
    (cli.root / "textual" / "__init__.py").write_text("raise ModuleNotFoundError(name='textual')\n")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [INTURN, "top"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cli.root,
        env=cli.environment({"PYTHONPATH": str(cli.root)}),
    )  # fmt: skip
    os.close(theirs)
    assert process.wait(DEADLINE) == 1
    assert b"pip install 'inturn[top]'" in os.read(ours, 1 << 16)
    os.close(ours)


def test_a_watched_list_keeps_up_and_ctrl_c_ends_it_quietly(cli: Cli, job: int) -> None:
    terminal = Terminal(cli, "list", "--watch", "0.1")
    terminal.shows(b"lookatme", b"queued")
    cli.run("cancel", job).check()
    terminal.shows(b"cancelled")
    terminal.press(b"\x03")
    assert terminal.ends() == 130
    assert b"Traceback" not in terminal.seen
    assert terminal.is_restored()
    terminal.close()


def test_a_watched_list_shows_what_there_is_room_for(cli: Cli) -> None:
    ids = cli.run("add", "--from-file", "-", input='{"command": ["true"]}\n' * 30).ids
    terminal = Terminal(cli, "list", "--watch", "--limit", "20", lines=12)
    terminal.shows(f"\n{ids[-1]}".encode(), b"the newest 9")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.ends() == 128 + signal.SIGTERM
    assert f"\n{ids[-10]} ".encode() not in terminal.seen
    assert terminal.is_restored()
    terminal.close()


def test_a_watched_list_ends_with_its_store(cli: Cli, job: int) -> None:
    terminal = Terminal(cli, "list", "--watch", "0.1")
    terminal.shows(b"lookatme")
    shutil.rmtree(cli.store)
    assert terminal.ends() == 1
    assert b"inturn.db is gone" in terminal.seen
    assert terminal.is_restored()
    terminal.close()


def test_a_watched_list_waits_for_the_store(cli: Cli) -> None:
    terminal = Terminal(cli, "list", "--status", "live", "--watch=100ms")
    terminal.shows(b"no jobs")
    assert not cli.store.exists()
    cli.run("add", "--name", "first", "--", "true").check()
    terminal.shows(b"first")
    terminal.close()


def test_in_a_pipe_nothing_is_watched(cli: Cli) -> None:
    assert b"inturn events --follow" in cli.run("list", "--watch").check(2).err
    assert cli.run("list", "--json", "--watch", 3).check(2).json["error"]["code"] == "usage"
    assert b"--watch" in cli.run("list", "--watch", "soon").check(2).err

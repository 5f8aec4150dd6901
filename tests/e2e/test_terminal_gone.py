"""A job outlives whoever submitted it: the terminal, the shell, and the submitting process itself."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.harness import DEADLINE, INTURN, Cli, until
from tests.e2e.scene import MORTAL
from tests.e2e.shells import environment, first_line, started

# Ends when the test says so; a hang-up, an interrupt or a closed terminal would end it before.
JOB = "echo started; until [ -e go ]; do sleep 0.05; done; echo survived"


class Terminal:
    """A terminal of its own with a shell in it, as a window of a terminal emulator is one."""

    def __init__(self, cli: Cli, verb: str, job: str) -> None:
        """Submit `job` with `verb`; the shell then stays."""
        self._master, slave = pty.openpty()
        self._shell = subprocess.Popen(
            ["setsid", "--ctty", "sh", "-c", f'inturn {verb} -c "$0"; sleep 317', job],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(cli),
            cwd=cli.root,
        )
        os.close(slave)

    def read_id(self) -> int:
        """The id of the job: the first line that is a number and no remark."""
        line = b""
        while not line.strip().isdigit():
            line = b""
            while not line.endswith(b"\n"):
                line += os.read(self._master, 1)
        return int(line)

    def close(self) -> None:
        """Close the window: everything in the session of the terminal is hung up."""
        if not self.closed:
            os.close(self._master)
            self._master = -1
            self._shell.wait(DEADLINE)

    @property
    def closed(self) -> bool:
        """Whether the window has been closed."""
        return self._master < 0


Open = Callable[[str, str], Terminal]


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Open]:
    """Opens terminals; those that are still open at the end of the test are closed."""
    opened: list[Terminal] = []

    def open_one(verb: str, job: str) -> Terminal:
        opened.append(Terminal(cli, verb, job))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


def finish(cli: Cli, job: int) -> None:
    """Let the job go on and see it end well."""
    (cli.root / "go").touch()
    cli.run("wait", job).check()
    assert cli.run("logs", job).check().text == "started\nsurvived\n"
    (run,) = cli.show(job)["runs"]
    assert (run["outcome"], run["exit_code"], run["signal"]) == ("success", 0, None)


def test_a_job_outlives_its_terminal(cli: Cli, verb: str, terminal: Open) -> None:
    window = terminal(verb, JOB)
    job = window.read_id()
    window.close()
    finish(cli, job)


def test_a_running_job_outlives_its_terminal(cli: Cli, verb: str, terminal: Open) -> None:
    window = terminal(verb, JOB)
    job = window.read_id()
    until(lambda: cli.run("logs", job).out == b"started\n", "the start of the job")
    window.close()
    finish(cli, job)


def test_a_job_outlives_a_recorded_session_that_is_killed(cli: Cli, verb: str) -> None:
    with started(cli, "script", "-qc", f"inturn {verb} -c '{JOB}' 2>&-; sleep 317", "/dev/null") as script:
        job = int(first_line(script))
        script.kill()
        script.wait(DEADLINE)
        finish(cli, job)


def test_a_job_outlives_a_shell_that_is_killed_right_after(cli: Cli, verb: str) -> None:
    with started(cli, "sh", "-c", f'inturn {verb} -c "$0"; kill -9 $$', JOB) as shell:
        job = int(first_line(shell))
        assert shell.wait(DEADLINE) == -signal.SIGKILL
        finish(cli, job)


def test_a_job_outlives_every_signal_to_the_group_of_its_submitter(cli: Cli, verb: str) -> None:
    with started(cli, "sh", "-c", f'inturn {verb} -c "$0"; sleep 317', JOB) as shell:
        job = int(first_line(shell))
        cli.wait_phase(job, "running")
        for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGKILL):
            os.killpg(shell.pid, sig)
        shell.wait(DEADLINE)
        finish(cli, job)


def test_the_session_of_a_job_is_its_own_and_has_no_terminal(cli: Cli, verb: str, terminal: Open) -> None:
    look = "cut -d' ' -f1,6,7 /proc/$$/stat; : >/dev/tty"
    window = terminal(verb, look)
    job = window.read_id()
    cli.run("wait", job)
    window.close()
    pid, session, tty = cli.run("logs", job, "--stream", "stdout").check().text.split()
    assert session == pid
    assert tty == "0"
    assert b"/dev/tty" in cli.run("logs", job, "--stream", "stderr").check().out


def test_a_submitter_that_was_started_with_nohup_does_not_make_the_job_deaf(cli: Cli, verb: str) -> None:
    submitter = subprocess.run(
        ["nohup", INTURN, verb, "--wait", "-c", "kill -HUP $$; echo deaf"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(cli),
        cwd=cli.root,
        timeout=DEADLINE,
        check=False,
    )
    assert submitter.returncode == 128 + signal.SIGHUP, submitter.stderr.decode()
    (run,) = cli.show(1)["runs"]
    assert (run["outcome"], run["signal"]) == ("failure", signal.SIGHUP)


@pytest.mark.parametrize("many", [1, 3])
@pytest.mark.parametrize(("moment", "stored"), [("commit", 0), ("committed", 1)])
def test_a_submission_that_is_cut_off_is_jobs_that_run_or_nothing(
    cli: Cli, verb: str, many: int, moment: str, stored: int
) -> None:
    words = (verb, "--array", f"1-{many}", "--", "true")
    whole = cli.run(*words).ids
    point = f"{'submit' if verb == 'run' else 'enqueue'}.{moment}"
    orders = {"role": "command", "point": point, "mark": str(cli.root / "died"), "skip": 0}
    submitter = subprocess.run(
        [sys.executable, MORTAL, json.dumps(orders), *words],
        stdin=subprocess.DEVNULL,
        env=environment(cli),
        cwd=cli.root,
        timeout=DEADLINE,
        check=False,
    )
    assert submitter.returncode == -signal.SIGKILL

    def ended() -> list[Any]:
        jobs: list[Any] = cli.run("list", "--all", "--json").check().data
        return jobs if all(job["phase"] == "completed" for job in jobs) else []

    jobs = until(ended, "the end of every job that was stored")
    assert {job["outcome"] for job in jobs} == {"success"}
    assert len(whole) == many
    assert len(jobs) == many * (1 + stored)

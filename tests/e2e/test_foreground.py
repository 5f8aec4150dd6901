"""`run --foreground`: the command has our input, its output is logged and shown, Ctrl-C cancels."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.harness import Cli, until

READY = "echo ready; "


def finish(process: subprocess.Popen[bytes], input: bytes | None = None) -> tuple[bytes, bytes]:  # noqa: A002
    return process.communicate(input, timeout=60)


def await_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def test_output_is_shown_and_logged_and_the_status_is_the_commands(cli: Cli) -> None:
    shown = cli.run("run", "--foreground", "--", "sh", "-c", "echo out; echo err >&2; exit 4")
    assert (shown.code, shown.out, shown.err) == (4, b"out\n", b"err\n")
    assert cli.run("logs", 1, "--stream", "stdout").out == b"out\n"
    assert cli.run("logs", 1, "--stream", "stderr").out == b"err\n"
    assert cli.show(1)["runs"][0]["exit_code"] == 4


def test_the_command_reads_our_input(cli: Cli) -> None:
    process = cli.popen("run", "--foreground", "--", "cat", stdin=subprocess.PIPE)
    out, _ = finish(process, b"one\ntwo\xff\n")
    assert (process.returncode, out) == (0, b"one\ntwo\xff\n")


def test_output_comes_while_the_command_runs(cli: Cli) -> None:
    process = cli.popen(
        "run", "--foreground", "-c", READY + "read line; echo got $line", stdin=subprocess.PIPE
    )
    assert await_line(process) == b"ready\n"
    out, _ = finish(process, b"on\n")
    assert out == b"got on\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_cancels(cli: Cli, number: signal.Signals) -> None:
    process = cli.popen("run", "--foreground", "-c", READY + "exec sleep 300", stdin=subprocess.PIPE)
    assert await_line(process) == b"ready\n"
    process.send_signal(number)
    finish(process)
    job = cli.show(1)
    assert (job["outcome"], job["runs"][0]["signal"]) == ("cancelled", signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM


def test_a_second_interrupt_kills_what_ignores_the_first(cli: Cli) -> None:
    stubborn = "trap '' TERM INT; " + READY + "while :; do sleep 1; done"
    process = cli.popen("run", "--foreground", "--stop-grace", "1h", "-c", stubborn, stdin=subprocess.PIPE)
    assert await_line(process) == b"ready\n"
    process.send_signal(signal.SIGINT)
    until(lambda: cli.show(1)["phase"] == "stopping", "the stop that was asked for")
    process.send_signal(signal.SIGINT)
    finish(process)
    assert cli.show(1)["runs"][0]["signal"] == signal.SIGKILL


def test_it_waits_for_its_gates_and_an_interrupt_ends_the_wait(cli: Cli) -> None:
    process = cli.popen("run", "--foreground", "--wait-file", "never", "--", "true", stdin=subprocess.PIPE)
    until(lambda: cli.run("list").out and cli.show(1)["phase"] == "waiting", "the job at its gate")
    process.send_signal(signal.SIGINT)
    finish(process)
    assert (cli.show(1)["outcome"], cli.show(1)["runs"]) == ("cancelled", [])
    assert process.returncode == 6


def test_its_retries_are_shown_too(cli: Cli) -> None:
    shown = cli.run("run", "--foreground", "--retries", 2, "-c", "echo run $INTURN_RUN; test $INTURN_RUN = 3")
    assert (shown.code, shown.out) == (0, b"run 1\nrun 2\nrun 3\n")


def test_it_leaves_nothing_in_the_registry(cli: Cli) -> None:
    cli.run("run", "--foreground", "--", "true").check()
    assert os.listdir(cli.store / "owners") == []


@pytest.mark.parametrize("other", [["--wait"], ["--array", "1-2"], ["--from-file", "-"]])
def test_it_excludes_what_makes_no_sense_with_it(cli: Cli, other: list[str]) -> None:
    refused = cli.run("run", "--foreground", *other, *([] if "--from-file" in other else ["--", "true"]))
    assert refused.code == 2
    assert b"--foreground excludes" in refused.err
    assert not Path(cli.store / "inturn.db").exists() or cli.run("list").out == b""

"""`run --foreground` sees its job to the end and tells how it ended, whatever becomes of its own output."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from typing import IO, Any

import pytest

from tests.e2e.harness import DEADLINE, INTURN, Cli, until
from tests.e2e.shells import environment

# Prints on both streams before and after it is let go.
BEFORE, AFTER = "echo out 1; echo err 1 >&2; ", "echo out 2; echo err 2 >&2; "
AWAIT_GO = "until [ -e go ]; do sleep 0.02; done; "
TALKS = BEFORE + AWAIT_GO + AFTER

# More than a pipe holds, on each stream.
LINES = 30_000
TALKS_MUCH = f"seq {LINES}; seq {LINES} >&2; "
MUCH = b"".join(b"%d\n" % number for number in range(1, LINES + 1))

STREAMS = ("stdout", "stderr")


def assert_all_is_kept(cli: Cli, outcome: str, code: int | None, *logs: bytes) -> None:
    """The job is over and has its result, and what it printed on each stream is in its log."""
    job = cli.show(1)
    assert (job["phase"], job["outcome"]) == ("completed", outcome)
    assert [run["exit_code"] for run in job["runs"]] == [code]
    for stream, log in zip(STREAMS, logs, strict=True):
        assert cli.run("logs", 1, "--stream", stream).check().out == log
    assert os.listdir(cli.store / "owners") == []


def foreground(cli: Cli, script: str, **streams: int | IO[Any]) -> subprocess.Popen[bytes]:
    return cli.popen("run", "--foreground", "-c", script, **streams)  # type: ignore[arg-type]


def line_of(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    return stream.readline()


# --- a reader that goes


@pytest.mark.parametrize("code", [0, 4])
@pytest.mark.parametrize("gone", [("stdout",), ("stderr",), STREAMS])
def test_a_reader_that_goes_ends_no_job_and_the_status_is_the_jobs(
    cli: Cli, gone: tuple[str, ...], code: int
) -> None:
    process = foreground(cli, TALKS + f"exit {code}")
    assert line_of(process.stdout) == b"out 1\n"
    assert line_of(process.stderr) == b"err 1\n"
    for name in gone:
        getattr(process, name).close()
    (cli.root / "go").touch()
    told = {name: getattr(process, name).read() for name in STREAMS if name not in gone}
    assert process.wait(DEADLINE) == code
    assert told == {name: f"{name[3:]} 2\n".encode() for name in told}
    assert_all_is_kept(cli, "failure" if code else "success", code, b"out 1\nout 2\n", b"err 1\nerr 2\n")


def test_a_reader_that_was_never_there_is_not_missed(cli: Cli) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = foreground(cli, BEFORE + "exit 4", stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=DEADLINE)[1] == b"err 1\n"
    assert process.returncode == 4
    assert_all_is_kept(cli, "failure", 4, b"out 1\n", b"err 1\n")


def test_retries_go_on_without_a_reader(cli: Cli) -> None:
    process = cli.popen(
        "run", "--foreground", "--retries", 1, "-c", TALKS + "test $INTURN_RUN = 2", stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert line_of(process.stdout) == b"out 1\n"
    process.stdout.close()
    (cli.root / "go").touch()
    assert process.wait(DEADLINE) == 0
    assert [run["exit_code"] for run in cli.show(1)["runs"]] == [1, 0]


# --- no room


@pytest.mark.parametrize("code", [0, 4])
@pytest.mark.parametrize("full", [("stdout",), ("stderr",), STREAMS])
def test_output_for_which_there_is_no_room_costs_the_success_and_nothing_else(
    cli: Cli, full: tuple[str, ...], code: int
) -> None:
    with open("/dev/full", "wb") as device:
        streams = {name: device if name in full else subprocess.PIPE for name in STREAMS}
        process = foreground(cli, BEFORE + f"exit {code}", **streams)
        out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == (code or 1)
    assert_all_is_kept(cli, "failure" if code else "success", code, b"out 1\n", b"err 1\n")
    assert out in (None, b"out 1\n")
    if err is not None:
        assert err == (
            b"err 1\n"
            b"inturn: not all output of job 1 could be shown: No space left on device\n"
            b"hint: It is in its log: inturn logs 1\n"
        )


def test_where_nothing_is_printed_a_full_device_is_no_failure(cli: Cli) -> None:
    with open("/dev/full", "wb") as device:
        process = foreground(cli, "exit 0", stdout=device, stderr=device)
        assert process.wait(DEADLINE) == 0


# --- closed from the start


@pytest.mark.parametrize("code", [0, 4])
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed_from_the_start_get_nothing_and_do_no_harm(
    cli: Cli, redirection: str, code: int
) -> None:
    script = f'"$0" run --foreground -c "$1" {redirection}'
    done = subprocess.run(
        ["sh", "-c", script, INTURN, BEFORE + f"exit {code}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=cli.environment(),
        cwd=cli.root,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == code
    closed = redirection.split()
    assert done.stdout == (b"" if ">&-" in closed else b"out 1\n")
    assert done.stderr == (b"" if "2>&-" in closed else b"err 1\n")
    assert_all_is_kept(cli, "failure" if code else "success", code, b"out 1\n", b"err 1\n")


# --- a reader that does not read


def await_talk(cli: Cli) -> subprocess.Popen[bytes]:
    """A job that has printed more than its reader has taken, and goes on."""
    process = foreground(cli, TALKS_MUCH + "touch ready; exec sleep 300")
    until((cli.root / "ready").exists, "the job that has printed all")
    return process


def await_cancelled(cli: Cli) -> None:
    until(lambda: cli.show(1)["outcome"] == "cancelled", "the end of the job")


def test_a_reader_that_does_not_read_holds_up_nothing_and_gets_all_in_the_end(cli: Cli) -> None:
    process = await_talk(cli)
    cli.run("cancel", 1).check()
    await_cancelled(cli)
    assert process.poll() is None
    assert process.communicate(timeout=DEADLINE) == (MUCH, MUCH)
    assert process.returncode == 128 + signal.SIGTERM


def test_an_interrupt_is_heeded_though_nobody_reads_and_another_ends_the_command(cli: Cli) -> None:
    process = await_talk(cli)
    process.send_signal(signal.SIGINT)
    await_cancelled(cli)
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE) == 128 + signal.SIGTERM
    assert_all_is_kept(cli, "cancelled", None, MUCH, MUCH)


@pytest.fixture
def hasty() -> Iterator[tuple[int, int]]:
    """A pipe of which the end for writing does not wait for room."""
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    yield ends
    os.close(ends[0])


def test_a_pipe_that_does_not_block_gets_all(cli: Cli, hasty: tuple[int, int]) -> None:
    reader, writer = hasty
    process = foreground(cli, f"seq {LINES}", stdout=writer, stderr=subprocess.DEVNULL)
    os.close(writer)
    told = b""
    while data := os.read(reader, 10_000):
        told += data
    assert process.wait(DEADLINE) == 0
    assert told == MUCH


# --- a terminal that goes


def test_a_terminal_that_is_closed_while_the_job_talks_cancels_it(cli: Cli) -> None:
    master, slave = pty.openpty()
    talks = "echo started; while :; do echo on; echo on >&2; sleep 0.01; done"
    shell = subprocess.Popen(
        ["setsid", "--ctty", "inturn", "run", "--foreground", "-c", talks],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(cli),
        cwd=cli.root,
    )
    os.close(slave)
    assert b"started" in os.read(master, 100)
    os.close(master)
    shell.wait(DEADLINE)
    job = cli.show(1)
    assert (job["phase"], job["outcome"]) == ("completed", "cancelled")
    assert os.listdir(cli.store / "owners") == []

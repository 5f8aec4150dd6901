from __future__ import annotations

import os
import pty
import signal
import subprocess

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.harness import INTURN, Cli, until


def test_it_ends_with_the_last_job_and_tells_who_did_not_succeed(cli: Cli) -> None:
    good = cli.run("run", "--", "sleep", "0.3").id
    assert cli.run("wait", good).check() == (("wait", str(good)), 0, b"", b"")
    bad = cli.run("run", "--name", "bad", "--", "sh", "-c", "exit 7").id
    told = cli.run("wait", good, "bad").check(6)
    assert told.out == b""
    assert told.err.decode() == f'inturn: job {bad} ("bad") ended as failure (exit 7)\n'
    assert cli.run("wait", bad, "--quiet").check(6).err == b""


@pytest.mark.parametrize(
    ("options", "script", "code"),
    [
        ((), "exit 0", 0),
        ((), "exit 7", 7),
        ((), "kill -TERM $$", 128 + signal.SIGTERM),
        (("--run-timeout", "200ms"), "exec sleep 600", 124),
    ],
)
def test_the_status_of_one_command_is_passed_on_if_asked_for(
    cli: Cli, options: tuple[str, ...], script: str, code: int
) -> None:
    job = cli.run("run", *options, "--", "sh", "-c", script).id
    cli.run("wait", job, "--exit-status").check(code)
    cli.run("wait", job).check(6 if code else 0)


def test_a_command_that_could_not_be_started_has_the_status_of_a_shell(cli: Cli) -> None:
    job = cli.run("run", "--", "no-such-command").id
    assert b"no-such-command" in cli.run("wait", job, "--exit-status").check(127).err


def test_the_status_of_several_commands_is_none(cli: Cli) -> None:
    jobs = [cli.run("run", "--wait", "--", "true").id for _ in range(2)]
    cli.run("wait", *jobs, "--exit-status").check(2)


def test_after_the_timeout_it_gives_up_and_the_job_goes_on(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "never", "--", "true").id
    gave_up = cli.run("wait", job, "--timeout", "50ms").check(6)
    assert b"not ended within 50ms" in gave_up.err
    assert cli.run("wait", job, "--timeout", "0", "--json").check(6).json["error"]["code"] == "incomplete"
    silent = cli.run("wait", job, "--timeout", "0", "--quiet").check(6)
    assert (silent.out, silent.err) == (b"", b"")
    assert b"there is no job" in cli.run("wait", 99, "--quiet").check(3).err
    assert cli.phase(job) == "waiting"
    assert b"--timeout" in cli.run("wait", job, "--timeout", "soon").check(2).err


def test_json_shows_the_jobs_as_they_ended(cli: Cli) -> None:
    jobs = [cli.run("run", "--tag", "k", "--", "true").id for _ in range(2)]
    shown = cli.run("wait", "--tag", "k", "--json").check()
    assert [(job["id"], job["outcome"], job["runs"][0]["exit_code"]) for job in shown.data] == [
        (job, "success", 0) for job in jobs
    ]


def test_where_there_is_no_store_there_is_nothing_to_wait_for(cli: Cli) -> None:
    cli.run("wait", 1).check(3)
    cli.run("wait", "--tag", "k").check(3)
    assert not cli.store.exists()


def test_an_interrupted_wait_leaves_the_job_alone(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "never", "--", "true").id
    waiter = cli.popen("wait", job)
    until(lambda: _has_open(waiter.pid, str(cli.store / "inturn.db")), "the waiter with the store open")
    waiter.send_signal(signal.SIGINT)
    assert waiter.wait(60) == 130
    assert cli.phase(job) == "waiting"


def _has_open(pid: int, path: str) -> bool:
    directory = f"/proc/{pid}/fd"
    return any(os.path.realpath(os.path.join(directory, fd)) == path for fd in os.listdir(directory))


def test_at_a_terminal_the_progress_is_seen_and_goes_away(cli: Cli) -> None:
    job = cli.run("run", "--name", "slow", "--wait-file", "go", "--", "true", cwd=cli.root).id
    ours, theirs = pty.openpty()
    waiter = subprocess.Popen(
        [INTURN, "wait", str(job)],
        env=cli.environment({"TERM": "xterm"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while b"1 waiting" not in seen:
        seen += os.read(ours, 4096)
    (cli.root / "go").touch()
    out, _ = waiter.communicate(timeout=60)
    os.close(ours)
    assert (waiter.returncode, out) == (0, b"")


@pytest.mark.parametrize("verb", ["run", "add"])
def test_a_submission_that_waits_shows_the_progress_with_an_estimate(cli: Cli, verb: str) -> None:
    if verb == "add":
        start_worker(cli)
    cli.run(verb, "--wait", "--name", "nap", "--", "true").check()
    ours, theirs = pty.openpty()
    waiter = subprocess.Popen(
        [INTURN, verb, "--wait", "--name", "nap", "-c", "while [ ! -e go ]; do sleep 0.05; done"],
        env=cli.environment({"TERM": "xterm"}),
        cwd=cli.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while b"estimate: " not in seen:
        seen += os.read(ours, 4096)
    (cli.root / "go").touch()
    out, _ = waiter.communicate(timeout=60)
    os.close(ours)
    assert (waiter.returncode, out) == (0, b"2\n")
    assert b"by one earlier run" in seen

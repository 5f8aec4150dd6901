"""A paused job stands still, whoever owns it, and goes on or ends as is asked for."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until

COUNT = "while :; do echo tick >> ticks; sleep 0.02; done"
NAP = "exec sleep 317"


def ticks(cli: Cli) -> int:
    path = cli.root / "ticks"
    return len(path.read_bytes()) if path.exists() else 0


def state(pid: int) -> str:
    """The letter by which the kernel calls the state of a process; '' if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def targets(cli: Cli, job: int) -> list[int]:
    """The processes of a job, found by what inturn tells them of it."""
    entry = f"INTURN_JOB_ID={job}".encode()
    found = []
    for pid in cli.processes():
        try:
            if entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
        except OSError:
            continue
    return found


def await_halted(cli: Cli, job: int) -> None:
    """Wait until nothing of the job can move. Whose vfork was stopped before its exec is D, not T, itself."""

    def halted() -> bool:
        states = {state(pid) for pid in targets(cli, job)}
        return "T" in states and states <= {"T", "D"}

    until(halted, f"all processes of job {job} stopped")


def pass_time(seconds: float) -> None:
    """Let time pass in which something is not to happen."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end, "the end of the time", seconds + 60)


def counting(cli: Cli, verb: str, *options: str) -> int:
    """A job that counts, and has begun to."""
    job = cli.run(verb, *options, "-c", COUNT).id
    until(lambda: ticks(cli) > 0, "the first tick")
    return job


def pause(cli: Cli, job: int) -> int:
    """Pause a counting job; returns how far it has come."""
    cli.wait_phase(job, "running")
    assert cli.run("pause", job).check().text == f"{job}\tpaused\n"
    await_halted(cli, job)
    return ticks(cli)


def kill_owner(cli: Cli, job: int) -> int:
    owner = int(cli.show(job)["owner"]["pid"])
    os.kill(owner, signal.SIGKILL)
    until(lambda: state(owner) in ("", "Z"), "the death of the owner")
    return owner


def test_its_processes_stand_still_until_it_is_resumed(cli: Cli, verb: str) -> None:
    job = counting(cli, verb)
    reached = pause(cli, job)
    shown = cli.show(job)
    assert (shown["phase"], shown["status"]) == ("paused", "paused")
    assert shown["admission"] is not None
    pass_time(0.3)
    assert ticks(cli) == reached
    await_halted(cli, job)
    assert cli.run("resume", job).check().text == f"{job}\tresumed\n"
    until(lambda: ticks(cli) > reached, "another tick")
    assert cli.phase(job) == "running"


def test_every_process_of_it_stands_still(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "-c", f"setsid sleep 317 & ({NAP}) & {NAP}").id
    until(lambda: len(targets(cli, job)) == 3, "all its processes")
    cli.run("pause", job).check()
    await_halted(cli, job)
    assert len(targets(cli, job)) == 3
    cli.run("resume", job).check()
    until(lambda: "T" not in {state(pid) for pid in targets(cli, job)}, "all of them going on")


def test_neither_the_time_of_a_run_nor_that_of_the_job_goes_on(cli: Cli, verb: str) -> None:
    """On a busy machine a run may be over before it can be paused: then the next one is given more time."""
    for seconds in (1, 4, 16, 64):
        job = counting(cli, verb, "--run-timeout", f"{seconds}s", "--job-timeout", "10m")
        cli.wait_phase(job, "running", "completed")
        if cli.run("pause", job).code == 0:
            break
        cli.run("cancel", job)
        cli.run("wait", job)
    await_halted(cli, job)
    reached = ticks(cli)
    pass_time(1.5 * seconds)
    assert (cli.phase(job), ticks(cli)) == ("paused", reached)
    cli.run("resume", job).check()
    cli.run("wait", job).check(6)
    shown = cli.show(job)
    assert (shown["outcome"], shown["reason"]) == ("timed_out", "run_timeout")
    assert ticks(cli) > reached


def test_a_job_that_is_cancelled_while_it_is_paused_leaves_no_process(cli: Cli, verb: str) -> None:
    job = counting(cli, verb, "--stop-grace", "1h")
    pause(cli, job)
    cli.run("cancel", job).check()
    cli.run("wait", job, "--timeout", "60s").check(6)
    assert cli.show(job)["outcome"] == "cancelled"
    assert targets(cli, job) == []


def test_one_that_ignores_the_polite_signal_is_killed_while_it_is_paused(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--stop-grace", "0.2s", "-c", f"trap '' TERM; {COUNT}").id
    until(lambda: ticks(cli) > 0, "the first tick")
    pause(cli, job)
    cli.run("cancel", job).check()
    cli.run("wait", job, "--timeout", "60s").check(6)
    assert targets(cli, job) == []


def test_a_pause_survives_the_death_of_the_owner(cli: Cli, verb: str) -> None:
    job = counting(cli, verb)
    reached = pause(cli, job)
    dead = kill_owner(cli, job)
    assert f"{job}\tadopted\tpaused" in cli.run("recover").check().text
    shown = cli.show(job)
    assert (shown["phase"], shown["owner"]["life"]) == ("paused", "alive")
    assert shown["owner"]["pid"] != dead
    pass_time(0.3)
    assert ticks(cli) == reached
    cli.run("resume", job).check()
    until(lambda: ticks(cli) > reached, "another tick")
    cli.run("cancel", job).check()
    cli.run("wait", job, "--timeout", "60s").check(6)
    assert targets(cli, job) == []


def test_a_job_that_waits_stays_paused_when_its_supervisor_dies(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "there", "-c", "echo ran > ran").id
    cli.run("pause", job).check()
    kill_owner(cli, job)
    assert f"{job}\trelaunched\tpaused" in cli.run("recover").check().text
    (cli.root / "there").touch()
    pass_time(0.3)
    assert cli.phase(job) == "paused"
    cli.run("resume", job).check()
    cli.run("wait", job).check()


def test_its_end_from_outside_is_seen_while_it_is_paused(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--", "sleep", "317").id
    cli.wait_phase(job, "running")
    cli.run("pause", job).check()
    await_halted(cli, job)
    (pid,) = targets(cli, job)
    os.kill(pid, signal.SIGKILL)
    cli.run("wait", job, "--timeout", "60s").check(6)
    shown = cli.show(job)
    assert (shown["outcome"], shown["runs"][0]["signal"]) == ("failure", signal.SIGKILL)


def test_a_job_in_line_is_passed_and_starts_when_it_is_resumed(cli: Cli, verb: str) -> None:
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 1}\n")
    first = cli.run(verb, "-c", "until [ -e go ]; do sleep 0.01; done").id
    cli.wait_phase(first, "running")
    held, other = (cli.run(verb, "--", "true").id for _ in range(2))
    cli.wait_phase(held, "queued")
    cli.run("pause", held).check()
    (cli.root / "go").touch()
    cli.run("wait", other).check()
    assert cli.phase(held) == "paused"
    cli.run("resume", held).check()
    cli.run("wait", held).check()


def test_the_last_signal_to_a_worker_puts_a_paused_job_back_in_line(cli: Cli) -> None:
    worker = start_worker(cli)
    job = counting(cli, "add")
    pause(cli, job)
    worker.terminate()
    until(lambda: not cli.run("workers", "--json").data or _accepting(cli) == [], "a worker that stops")
    assert worker.poll() is None
    worker.terminate()
    assert worker.wait(timeout=60) == 0
    shown = cli.show(job)
    assert (shown["phase"], targets(cli, job)) == ("queued", [])


def _accepting(cli: Cli) -> list[int]:
    return [one["pid"] for one in cli.run("workers", "--json").data if one["accepting"]]


def test_a_foreground_job_that_is_paused_can_be_interrupted(cli: Cli) -> None:
    process = cli.popen("run", "--foreground", "-c", COUNT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until(lambda: ticks(cli) > 0, "the first tick")
    pause(cli, 1)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert cli.show(1)["outcome"] == "cancelled"
    assert targets(cli, 1) == []


# --- whole queues and pools


def test_a_paused_queue_starts_nothing_and_what_runs_goes_on(cli: Cli) -> None:
    start_worker(cli)
    job = counting(cli, "add")
    assert cli.run("pause", "--queue", "default").check().text == "queue:default\tpaused\n"
    later = cli.run("add", "--", "true").id
    before = ticks(cli)
    until(lambda: ticks(cli) > before, "another tick")
    pass_time(0.3)
    assert cli.show(later)["status"] == "queued"
    (reason,) = [one for one in cli.show(later)["reasons"] if one["code"] == "paused"]
    assert reason["fix"] == "inturn resume --queue default"
    (queue,) = cli.run("status", "--json").data["queues"]
    assert (queue["held"], queue["paused"], queue["running"]) == (True, 0, 1)
    assert cli.run("resume", "--queue", "default").check().text == "queue:default\tresumed\n"
    cli.run("wait", later).check()
    assert cli.phase(job) == "running"


def test_a_paused_pool_holds_supervised_jobs_back_too(cli: Cli, verb: str) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {p: 4}}\n")
    first = cli.run(verb, "--pool", "p", "--wait", "--", "true")
    first.check()
    cli.run("pause", "--pool", "p").check()
    job = cli.run(verb, "--pool", "p", "--", "true").id
    other = cli.run(verb, "--", "true").id
    cli.run("wait", other).check()
    assert cli.show(job)["status"] == "queued"
    assert "paused" in [one["code"] for one in cli.show(job)["reasons"]]
    assert [one["held"] for one in cli.run("pools", "--json").data["pools"]] == [True]
    cli.run("resume", "--pool", "p").check()
    cli.run("wait", job).check()


def test_with_its_running_jobs_a_pool_stands_still(cli: Cli, verb: str) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {p: 4}}\n")
    job = counting(cli, verb, "--pool", "p")
    cli.wait_phase(job, "running")
    told = cli.run("pause", "--pool", "p", "--with-running").check().text
    assert told == f"pool:p\tpaused\n{job}\tpaused\n"
    await_halted(cli, job)
    reached = ticks(cli)
    assert cli.run("resume", "--pool", "p").check().text == "pool:p\tresumed\n"
    assert (cli.phase(job), ticks(cli)) == ("paused", reached)
    cli.run("pause", "--pool", "p").check()
    told = cli.run("resume", "--pool", "p", "--with-running").check().text
    assert told == f"pool:p\tresumed\n{job}\tresumed\n"
    until(lambda: ticks(cli) > reached, "another tick")


@pytest.mark.parametrize("held", ["--queue", "--pool"])
def test_a_drain_ends_although_jobs_stand_in_what_is_paused(cli: Cli, held: str) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {default: 4}}\n")
    job = cli.run("add", "--pool", "default", "--", "true").id
    cli.run("pause", held, "default").check()
    cli.run("work", "--drain").check()
    assert cli.phase(job) == "queued"
    cli.run("resume", held, "default").check()
    cli.run("work", "--drain").check()
    assert cli.show(job)["outcome"] == "success"

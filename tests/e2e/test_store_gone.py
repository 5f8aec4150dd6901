"""A store that is removed, moved or replaced under its owners: they notice, and end by themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from inturn.core.layout import DATABASE
from tests.e2e.conftest import start_worker
from tests.e2e.harness import DEADLINE, Cli, until

PATIENT = "until [ -e go ]; do sleep 0.02; done; echo done >> done"


def await_idle(cli: Cli) -> None:
    """Wait until no process of the store is left."""
    until(lambda: not cli.processes(), "the end of every process")


def end_of(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """How a command that runs by itself ends, and what it says then."""
    _, said = process.communicate(timeout=DEADLINE)
    return process.returncode, said


def is_one_line_and_a_hint(said: bytes, store: Path) -> bool:
    """Tell whether that is all, and tells which store is meant."""
    message, hint = said.decode().splitlines()
    return message.startswith(f"inturn: {store}/inturn.db is gone") and hint.startswith("hint: ")


def test_supervisors_that_wait_end_when_their_store_is_removed(cli: Cli) -> None:
    delayed = cli.run("run", "--after", "1h", "--", "true").id
    cli.run("run", "--after-success", delayed, "--", "true").check()
    cli.run("run", "--wait-file", "never", "--wait-poll", "100ms", "--", "true").check()
    cli.run("run", "--wait-probe", "sleep 1000", "--probe-timeout", "1h", "--", "true").check()
    cli.run("run", "--array", "1-3", "--after", "1h", "--", "true").check()
    until(lambda: any("sleep 1000" in line for line in cli.processes().values()), "the probe")
    assert len(cli.processes()) == 9, "six supervisors, one that looks for three, the probe and its child"
    shutil.rmtree(cli.store)
    await_idle(cli)
    assert not cli.store.exists()


@pytest.mark.parametrize("options", [(), ("--drain",), ("-j", "2")])
def test_a_worker_without_a_job_ends_when_its_store_is_removed_and_says_so(
    cli: Cli, options: tuple[str, ...]
) -> None:
    held = cli.run("add", "--wait-file", "never", "--", "true").id
    cli.run("run", "--pool", "none", "--", "true").check(2)
    waiting = cli.run("run", "--wait-file", "never", "--", "true").id
    cli.run("add", "--after-success", waiting, "--", "true").check()
    worker = cli.popen("work", *options)
    until(lambda: cli.show(held)["conditions"][0]["observed_at"], "the worker's look at the file")
    shutil.rmtree(cli.store)
    code, said = end_of(worker)
    assert code == 1
    assert is_one_line_and_a_hint(said, cli.store)
    await_idle(cli)


@pytest.mark.parametrize("kind", ["run", "add"])
def test_what_runs_is_run_to_its_end_and_then_its_owner_ends(cli: Cli, kind: str) -> None:
    worker = cli.popen("work") if kind == "add" else None
    job = cli.run(kind, "--retries", 1, "-c", PATIENT).id
    cli.wait_phase(job, "running")
    onlooker = cli.run("run", "--after", "1h", "--", "true").id
    noticed = cli.show(onlooker)["owner"]["pid"]
    shutil.rmtree(cli.store)
    until(lambda: noticed not in cli.processes(), "the end of a supervisor that waits")
    assert len(cli.processes()) >= 2, "the job and its owner"
    (cli.root / "go").touch()
    await_idle(cli)
    assert (cli.root / "done").read_text() == "done\n"
    if worker is not None:
        code, said = end_of(worker)
        assert code == 1
        assert is_one_line_and_a_hint(said, cli.store)


def test_a_worker_claims_nothing_more_from_a_store_that_is_gone(cli: Cli) -> None:
    worker = cli.popen("work")
    job = cli.run("add", "-c", PATIENT).id
    cli.run("add", "-c", "echo no >> done").check()
    cli.wait_phase(job, "running")
    idle = cli.popen("work", "--queue", "other")
    until(lambda: len(cli.run("workers", "--json").data) == 2, "both workers")
    shutil.rmtree(cli.store)
    assert end_of(idle)[0] == 1
    # The other worker looks as often, and at the latest when its job has ended.
    (cli.root / "go").touch()
    assert end_of(worker)[0] == 1
    assert (cli.root / "done").read_text().count("done") == 1


def test_time_limits_hold_without_a_store(cli: Cli) -> None:
    job = cli.run("run", "--run-timeout", "3s", "--retries", 5, "--", "sleep", 1000).id
    cli.wait_phase(job, "running")
    shutil.rmtree(cli.store)
    await_idle(cli)


def test_a_foreground_job_that_waits_ends_with_its_store(cli: Cli) -> None:
    command = cli.popen("run", "--foreground", "--wait-file", "never", "--", "true")
    until(lambda: cli.run("list", "--json").data, "the job")
    shutil.rmtree(cli.store)
    code, said = end_of(command)
    assert code == 1
    assert is_one_line_and_a_hint(said, cli.store)


def test_a_foreground_job_that_runs_hands_on_its_exit_code_all_the_same(cli: Cli) -> None:
    command = cli.popen("run", "--foreground", "-c", PATIENT + "; exit 7")
    until(lambda: [job for job in cli.run("list", "--json").data if job["phase"] == "running"], "the job")
    shutil.rmtree(cli.store)
    (cli.root / "go").touch()
    assert end_of(command)[0] == 7


def remove(cli: Cli) -> None:
    """Remove the store."""
    shutil.rmtree(cli.store)


def replace(cli: Cli) -> None:
    """Have another store in the place of this one."""
    os.rename(cli.store, cli.root / "elsewhere")
    cli.run("limit", 9).check()


@pytest.mark.parametrize("act", [remove, replace])
@pytest.mark.parametrize("words", [("wait", "1"), ("logs", "-f", "1"), ("events", "--follow")])
def test_who_waits_for_what_comes_notices_that_its_store_is_gone(
    cli: Cli, words: tuple[str, ...], act: Callable[[Cli], None]
) -> None:
    job = cli.run("run", "-c", PATIENT).id
    cli.wait_phase(job, "running")
    waiting = cli.popen(*words, stdout=subprocess.DEVNULL)
    until(lambda: has_open(waiting.pid, cli.store / "inturn.db-shm"), "the look at the store")
    act(cli)
    code, said = end_of(waiting)
    assert code == 1
    assert is_one_line_and_a_hint(said, cli.store)
    (cli.root / "go").touch()
    await_idle(cli)


def has_open(pid: int, path: Path) -> bool:
    """Tell whether a process has this file open."""
    try:
        fds = os.listdir(f"/proc/{pid}/fd")
        return str(path) in [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in fds]
    except OSError:
        return False


def test_a_store_that_was_moved_is_left_and_its_jobs_are_taken_over_where_it_is(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "go", "--wait-poll", "50ms", "-c", "echo here >> done").id
    left = cli.show(job)["owner"]["pid"]
    place = cli.root / "elsewhere"
    os.rename(cli.store, place)
    until(lambda: left not in cli.processes(), "the end of the supervisor")
    there = {"INTURN_DIR": str(place)}
    cli.run("recover", env=there).check()
    (cli.root / "go").touch()
    cli.run("wait", job, env=there).check()
    assert (cli.root / "done").read_text() == "here\n"


def test_a_store_that_was_replaced_is_left_to_those_of_the_new_one(cli: Cli) -> None:
    cli.run("run", "--wait-file", "go", "--wait-poll", "50ms", "-c", "echo old >> done").check()
    (old,) = cli.processes()
    os.rename(cli.store, cli.root / "elsewhere")
    new = cli.run("run", "--wait-file", "go", "--wait-poll", "50ms", "-c", "echo new >> done").id
    until(lambda: old not in cli.processes(), "the end of the supervisor of the old store")
    start_worker(cli, "--once")
    (cli.root / "go").touch()
    cli.run("wait", new).check()
    assert (cli.root / "done").read_text() == "new\n"
    cli.run("doctor").check()


def test_a_worker_whose_store_cannot_be_read_any_more_ends_when_it_is_told_to(cli: Cli) -> None:
    worker = start_worker(cli)
    until(lambda: cli.run("workers", "--json").data, "the worker")
    with closing(apsw.Connection(str(cli.store / DATABASE))) as connection:
        connection.set_busy_timeout(60_000)
        connection.execute("ALTER TABLE configuration RENAME COLUMN looks_per_second TO hidden")
        until((cli.store / "errors.log").exists, "what it cannot read")
        worker.terminate()
        assert worker.wait(timeout=DEADLINE) in (0, 1)
        connection.execute("ALTER TABLE configuration RENAME COLUMN hidden TO looks_per_second")

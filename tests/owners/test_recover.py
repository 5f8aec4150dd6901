"""Reconciliation where the store, the process table or the machine is not what it was when the owner died."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.host import identity
from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until
from tests.e2e.orphans import PATIENT, Orphanage, orphanage

BOTH = pytest.mark.parametrize("kind", ["run", "add"])
OTHER_BOOT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def orphans(cli: Cli) -> Iterator[Orphanage]:
    yield from orphanage(cli)


class Stranger:
    """A process that has nothing to do with the store, and writes down every signal that it gets."""

    def __init__(self, root: Path) -> None:
        self._told = root / "signals"
        self._ready = root / "ready"
        traps = "; ".join(f"trap 'echo {name} >> signals' {name}" for name in ("TERM", "INT", "HUP", "CONT"))
        script = f"{traps}; touch ready; while :; do read -r _; done"
        self.process = subprocess.Popen(
            ["sh", "-c", script], cwd=root, stdin=subprocess.PIPE, start_new_session=True
        )
        until(self._ready.exists, "the stranger")
        # Who starts within the same tick of the clock could not be told from it.
        who = identity.of(self.pid)
        assert who is not None
        until(lambda: _ticks_now() > who.ticks + 1, "another tick of the clock")

    @property
    def pid(self) -> int:
        return self.process.pid

    def assert_untouched(self) -> None:
        assert self.process.poll() is None
        assert not self._told.exists(), self._told.read_text()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()


def _ticks_now() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    root = tmp_path / "stranger"
    root.mkdir()
    one = Stranger(root)
    yield one
    one.end()


def forget_lock_files(cli: Cli) -> None:
    """Without them only identities tell who is alive."""
    for path in (cli.store / "owners").glob("*.lock"):
        path.unlink()


# --- the pid belongs to somebody else by now


def with_recycled_pids(orphans: Orphanage, kind: str, stranger: Stranger) -> int:
    """A job that died with its owner, both of whose pids the stranger has got since."""
    job = orphans.begin(kind, "sleep 600", "--max-crashes", 0)
    orphans.kill_owner(job)
    orphans.kill_target(job)
    for table, column in (("runs", "native_id"), ("owners", "identity")):
        place = f"instr({column}, ':')"
        orphans.rewrite(f"UPDATE {table} SET {column} = ? || substr({column}, {place})", str(stranger.pid))
    forget_lock_files(orphans.cli)
    return job


@BOTH
@pytest.mark.parametrize("verb", ["recover", "cancel", "wait", "doctor"])
def test_a_process_that_got_the_pid_of_a_dead_one_is_never_signalled(
    orphans: Orphanage, stranger: Stranger, kind: str, verb: str
) -> None:
    job = with_recycled_pids(orphans, kind, stranger)
    orphans.cli.run(
        verb, *([job] if verb in ("cancel", "wait") else []), *(["--repair"] if verb == "doctor" else [])
    )
    stranger.assert_untouched()
    orphans.cli.run("recover").check()
    stranger.assert_untouched()
    orphans.cli.run("wait", job)
    found = orphans.cli.show(job)
    # Whoever cancels may come before whoever finds the job dead: then it ends as it was asked to.
    ways = [("lost", "lost"), ("cancelled", "cancelled")] if verb == "cancel" else [("lost", "lost")]
    assert (found["outcome"], found["runs"][0]["outcome"]) in ways
    assert orphans.row("SELECT count(*) FROM admissions") == (0,)


# --- the machine was restarted


def restart(orphans: Orphanage) -> None:
    """What a restart leaves: every process is gone, and all that the store knows is of an earlier boot."""
    present = orphans.row("SELECT identity FROM owners")[0].split(":")[2]
    for pid in orphans.cli.processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    until(lambda: not orphans.cli.processes(), "the end of every process")
    orphans.foster.bury()
    tables = {
        "owners": ("identity", "lease_boot"),
        "jobs": ("due_boot", "watch_boot", "yielded_boot"),
        "runs": ("native_id", "watch_boot"),
        "conditions": ("due_boot",),
        "deadlines": ("boot",),
    }
    for table, columns in tables.items():
        for column in columns:
            orphans.rewrite(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", present, OTHER_BOOT)


def test_after_a_restart_what_ran_is_lost_and_what_waited_goes_on(orphans: Orphanage) -> None:
    cli = orphans.cli
    ran = cli.run("run", "--max-crashes", 0, "--retries", 3, "--", "sleep", 600).id
    cli.wait_phase(ran, "running")
    waited = cli.run("run", "--wait-file", "there", "--wait-delay", "1s", "--", "true").id
    delayed = cli.run("run", "--after", "1s", "--", "true").id
    restart(orphans)
    assert orphans.recover() == {ran: "lost", waited: "relaunched", delayed: "relaunched"}
    found = cli.show(ran)
    assert (found["outcome"], found["reason"]) == ("lost", "rebooted")
    (cli.root / "there").touch()
    cli.run("wait", waited, delayed).check()


@BOTH
def test_a_restart_is_not_charged_to_the_crash_budget(orphans: Orphanage, kind: str) -> None:
    cli = orphans.cli
    job = orphans.begin(kind, "[ -e second ] || { touch second; sleep 600; }", "--max-crashes", 1)
    restart(orphans)
    orphans.recover()
    assert orphans.row("SELECT crashes FROM jobs WHERE id = ?", job) == (0,)
    if kind == "add":
        start_worker(cli)
    cli.run("wait", job).check()
    assert [run["outcome"] for run in cli.show(job)["runs"]] == ["lost", "success"]


def test_a_run_whose_process_was_never_stored_is_not_charged_after_a_restart_either(
    orphans: Orphanage,
) -> None:
    job = orphans.begin("run", "sleep 600", "--max-crashes", 1)
    restart(orphans)
    orphans.rewrite("UPDATE runs SET native_id = '', started_at = NULL")
    orphans.rewrite("UPDATE jobs SET phase = 'starting'")
    assert orphans.recover() == {job: "lost"}
    assert orphans.row("SELECT crashes FROM jobs WHERE id = ?", job) == (0,)


def test_queued_jobs_with_delays_and_conditions_go_on_after_a_restart(orphans: Orphanage) -> None:
    cli = orphans.cli
    start_worker(cli)
    looked_at = cli.run("add", "--wait-file", "there", "--", "true").id
    delayed = cli.run("add", "--after", "1s", "--job-timeout", "1h", "--", "true").id
    until(lambda: cli.show(looked_at)["owner"], "a worker that looks")
    restart(orphans)
    assert orphans.recover() == {}
    (cli.root / "there").touch()
    start_worker(cli)
    cli.run("wait", looked_at, delayed).check()


# --- the owner died between two steps


def test_a_run_that_was_started_but_not_stored_is_found_by_its_marks(orphans: Orphanage) -> None:
    job = orphans.begin("run")
    target = orphans.target(job)
    orphans.kill_owner(job)
    orphans.rewrite("UPDATE runs SET native_id = '', started_at = NULL, watch_boot = ''")
    orphans.rewrite("UPDATE jobs SET phase = 'starting'")
    assert orphans.recover() == {job: "adopted"}
    orphans.cli.wait_phase(job, "running")
    assert orphans.target(job) == target
    orphans.go()
    orphans.cli.run("wait", job, "--quiet")
    assert orphans.cli.show(job)["runs"][0]["exit_code"] == 7


@BOTH
def test_a_run_that_was_reserved_but_never_started_goes_back_to_its_place_uncharged(
    orphans: Orphanage, kind: str
) -> None:
    cli = orphans.cli
    job = orphans.begin(kind, "[ -e second ] || { touch second; sleep 600; }")
    place = orphans.row("SELECT next_run_at, priority FROM jobs WHERE id = ?", job)
    orphans.kill_owner(job)
    orphans.kill_target(job)
    orphans.rewrite("UPDATE runs SET native_id = '', started_at = NULL, watch_boot = ''")
    orphans.rewrite("UPDATE jobs SET phase = 'starting'")
    for log in (cli.store / "logs" / "0").iterdir():
        log.unlink()
    assert orphans.recover() == {job: "returned"}
    assert orphans.row("SELECT next_run_at, priority FROM jobs WHERE id = ?", job) == place
    assert orphans.row("SELECT count(*) FROM admissions WHERE run = 1") == (0,)
    if kind == "add":
        start_worker(cli)
    cli.run("wait", job).check()
    found = cli.show(job)
    assert (found["attempts"], len(found["runs"])) == (1, 2)


def test_a_job_that_nobody_had_taken_over_has_failed(orphans: Orphanage) -> None:
    job = orphans.begin("run", "sleep 600")
    orphans.kill_owner(job)
    orphans.kill_target(job)
    orphans.rewrite("DELETE FROM admissions")
    orphans.rewrite("UPDATE jobs SET phase = 'submitting', runs = 0, attempts = 0")
    assert orphans.recover() == {job: "failed"}
    found = orphans.cli.show(job)
    assert (found["outcome"], found["reason"]) == ("submission_failed", "no_supervisor")


def test_a_result_that_was_stored_is_kept_when_the_owner_dies_over_what_the_run_has_left(
    orphans: Orphanage,
) -> None:
    cli = orphans.cli
    deaf = "sh -c 'trap \"\" TERM; touch deaf; while :; do sleep 0.1; done' &"
    script = f"{deaf} until [ -e deaf ]; do sleep 0.01; done"
    job = cli.run("run", "--stop-grace", "1h", "-c", script).id
    cli.wait_phase(job, "stopping")
    assert cli.show(job)["runs"][0]["outcome"] == "success"
    orphans.kill_owner(job)
    for pid, line in cli.processes().items():
        if "trap" in line:
            os.kill(pid, signal.SIGKILL)
    until(lambda: not cli.processes(), "the end of every process")
    assert orphans.recover() == {job: "ended"}
    assert cli.show(job)["outcome"] == "success"


def test_a_new_supervisor_that_dies_at_once_is_replaced_by_the_next_recovery(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = cli.run("run", "--wait-file", "there", "--", "true").id
    for _ in range(3):
        orphans.kill_owner(job)
        assert orphans.recover() == {job: "relaunched"}
    (cli.root / "there").touch()
    cli.run("wait", job).check()
    assert orphans.row("SELECT epoch >= 4 FROM jobs WHERE id = ?", job) == (1,)


# --- what cannot be proven


def test_an_owner_in_another_pid_namespace_whose_lock_is_gone_is_left_alone(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = orphans.begin("run")
    orphans.kill_owner(job)
    for text in orphans.identities():
        orphans.rewrite("UPDATE owners SET identity = ?", text.rpartition(":")[0] + ":1")
    forget_lock_files(cli)
    before = orphans.row("SELECT * FROM jobs WHERE id = ?", job)
    told = cli.run("recover", "--json").check(6)
    assert [(one["id"], one["result"]) for one in told.data] == [(job, "unverified")]
    assert b"doctor" in told.err
    assert cli.run("recover").check(6).text == f"{job}\tunverified\trunning\n"
    assert orphans.row("SELECT * FROM jobs WHERE id = ?", job) == before
    assert orphans.row("SELECT count(*) FROM admissions") == (1,)
    orphans.go()


def test_a_run_in_another_pid_namespace_is_left_alone(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = orphans.begin("run")
    orphans.kill_owner(job)
    native_id = orphans.row("SELECT native_id FROM runs")[0]
    elsewhere = re.sub(r"^(\d+:\d+:[^:]+):\d+", r"\1:1", native_id)
    orphans.rewrite("UPDATE runs SET native_id = ?", elsewhere)
    assert [one["result"] for one in cli.run("recover", "--json").check(6).data] == ["unverified"]
    assert orphans.row("SELECT count(*) FROM admissions") == (1,)
    orphans.rewrite("UPDATE runs SET native_id = ?", native_id)
    assert orphans.recover() == {job: "adopted"}
    orphans.go()
    cli.run("wait", job, "--quiet")


def test_where_there_is_nothing_to_recover_nothing_is_said_or_made(cli: Cli) -> None:
    assert cli.run("recover", "--json").check().data == []
    assert not cli.store.exists()


def test_a_job_that_was_paused_with_its_processes_is_adopted_paused(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = orphans.begin("run", PATIENT)
    cli.run("pause", job).check()
    target = orphans.target(job)
    until(lambda: _state(target) == "T", "the stopped process")
    orphans.kill_owner(job)
    assert orphans.recover() == {job: "adopted"}
    assert cli.phase(job) == "paused"
    assert _state(target) == "T"
    cli.run("resume", job).check()
    orphans.go()
    cli.run("wait", job, "--quiet")
    assert cli.show(job)["runs"][0]["exit_code"] == 7


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

"""Owners that are killed with -9, stopped, or hidden: what runs goes on, and what was promised is kept."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until
from tests.e2e.orphans import PATIENT, Orphanage, orphanage

ONE_SLOT = "schema_version: 1\nconcurrency:\n  pools:\n    one: 1\n"
BOTH = pytest.mark.parametrize("kind", ["run", "add"])


@pytest.fixture
def orphans(cli: Cli) -> Iterator[Orphanage]:
    yield from orphanage(cli)


def outcome(cli: Cli, job: int) -> tuple[str, object]:
    """How a job ended, and the exit code of its last run."""
    cli.run("wait", job, "--quiet")
    found = cli.show(job)
    return found["outcome"], found["runs"][-1]["exit_code"]


# --- the owner is killed, and its job lives


@BOTH
def test_a_job_that_outlives_its_owner_keeps_its_slot_and_ends_with_its_own_exit_code(
    orphans: Orphanage, kind: str
) -> None:
    cli = orphans.cli
    cli.configure(ONE_SLOT)
    job = orphans.begin(kind, PATIENT, "--pool", "one")
    target = orphans.target(job)
    dead = orphans.kill_owner(job)
    if kind == "add":
        start_worker(cli)
    other = cli.run(kind, "--pool", "one", "--", "true").id
    orphans.let_leases_expire()
    until(lambda: orphans.owner(job) != dead, "another owner")
    found = cli.show(job)
    assert (found["phase"], found["owner"]["kind"], found["owner"]["life"]) == (
        "running",
        "supervisor",
        "alive",
    )
    assert orphans.target(job) == target
    assert found["admission"]["slots"] == 1
    assert cli.phase(other) == "queued"
    assert cli.run("pools", "--json").data["pools"][0]["used"] == 1
    orphans.go()
    assert outcome(cli, job) == ("failure", 7)
    assert cli.run("logs", job).out == b"begun\ndone\n"
    assert outcome(cli, other) == ("success", 0)
    events = cli.run("events", "--json").data
    ended = next(event["id"] for event in events if event["job"] == job and event["to"] == "completed")
    began = next(event["id"] for event in events if event["job"] == other and event["to"] == "starting")
    assert ended < began


@BOTH
def test_recover_says_what_it_did_and_has_nothing_to_do_the_next_time(orphans: Orphanage, kind: str) -> None:
    cli = orphans.cli
    job = orphans.begin(kind)
    orphans.kill_owner(job)
    first = cli.run("recover").check()
    assert first.text == f"{job}\tadopted\trunning\n"
    assert cli.run("recover").check().text == ""
    assert cli.run("recover", "--json").check().data == []
    orphans.go()
    assert outcome(cli, job) == ("failure", 7)


@BOTH
def test_a_retry_after_an_adopted_run_goes_on_as_it_would_have(orphans: Orphanage, kind: str) -> None:
    cli = orphans.cli
    job = orphans.begin(kind, PATIENT, "--retries", 1)
    orphans.kill_owner(job)
    orphans.recover()
    orphans.go()
    if kind == "add":
        until(lambda: cli.phase(job) == "queued", "the job back in its queue")
        assert cli.show(job)["owner"] is None
        start_worker(cli)
    assert outcome(cli, job) == ("failure", 7)
    assert [run["outcome"] for run in cli.show(job)["runs"]] == ["failure", "failure"]


@BOTH
def test_the_exit_code_of_a_job_that_nobody_has_reaped_yet_is_recorded(orphans: Orphanage, kind: str) -> None:
    job = orphans.begin(kind)
    target = orphans.target(job)
    orphans.kill_owner(job)
    orphans.go()
    orphans.foster.await_zombie(target)
    assert orphans.recover() == {job: "adopted"}
    assert outcome(orphans.cli, job) == ("failure", 7)


def test_a_signal_that_ended_an_unreaped_job_is_recorded(orphans: Orphanage) -> None:
    job = orphans.begin("run")
    target = orphans.target(job)
    orphans.kill_owner(job)
    os.killpg(target, signal.SIGUSR1)
    orphans.foster.await_zombie(target)
    orphans.recover()
    assert outcome(orphans.cli, job) == ("failure", None)
    assert orphans.cli.show(job)["runs"][0]["signal"] == signal.SIGUSR1


def test_a_job_whose_end_somebody_else_has_collected_is_lost_however_it_ended(orphans: Orphanage) -> None:
    job = orphans.begin("run", "until [ -e go ]; do sleep 0.02; done; exit 0")
    target = orphans.target(job)
    orphans.kill_owner(job)
    orphans.go()
    orphans.foster.await_zombie(target)
    orphans.foster.bury()
    assert orphans.recover() == {job: "lost"}
    found = orphans.cli.show(job)
    assert (found["outcome"], found["reason"], found["runs"][0]["outcome"]) == ("lost", "owner_died", "lost")
    assert orphans.cli.run("wait", job, "--exit-status").code == 6


def test_what_is_left_of_a_run_is_ended_before_the_slots_of_a_lost_job_are_given_back(
    orphans: Orphanage,
) -> None:
    cli = orphans.cli
    script = (
        "trap '' TERM; (until [ -e stop ]; do sleep 0.02; done; exec sleep 0.2) & echo $! > left; sleep 600"
    )
    job = orphans.begin("run", script, "--stop-grace", "300ms")
    left = int(until(lambda: (cli.root / "left").read_text() if (cli.root / "left").exists() else "", "it"))
    target = orphans.target(job)
    orphans.kill_owner(job)
    os.kill(target, signal.SIGKILL)
    orphans.foster.await_zombie(target)
    os.waitpid(target, 0)
    assert orphans.recover() == {job: "adopted"}
    assert outcome(cli, job) == ("lost", None)
    assert left not in cli.processes()


@BOTH
def test_an_adopted_run_is_stopped_by_cancel(orphans: Orphanage, kind: str) -> None:
    cli = orphans.cli
    job = orphans.begin(kind, "sleep 600 & sleep 600")
    orphans.kill_owner(job)
    orphans.recover()
    cli.run("cancel", job).check()
    assert outcome(cli, job) == ("cancelled", None)
    assert not [line for line in cli.processes().values() if "sleep 600" in line]


def test_a_cancellation_that_nobody_could_carry_out_is_carried_out_by_whoever_recovers(
    orphans: Orphanage,
) -> None:
    job = orphans.begin("run", "sleep 600")
    orphans.kill_owner(job)
    # A command that has no dead owner to see: the intent is stored, and there is nobody to act.
    orphans.rewrite("UPDATE jobs SET phase = 'stopping', stop_reason = 'cancelled' WHERE id = ?", job)
    orphans.recover()
    assert outcome(orphans.cli, job) == ("cancelled", None)


def test_the_run_timeout_of_an_adopted_run_goes_on(orphans: Orphanage) -> None:
    job = orphans.begin("run", "sleep 600", "--run-timeout", "2s")
    orphans.kill_owner(job)
    orphans.recover()
    assert outcome(orphans.cli, job) == ("timed_out", None)


def test_a_foreground_job_outlives_the_command_that_ran_it(orphans: Orphanage) -> None:
    cli = orphans.cli
    process = cli.popen("run", "--foreground", "-c", PATIENT, stdout=subprocess.DEVNULL)
    until(lambda: cli.run("show", 1).code == 0, "the job")
    cli.wait_phase(1, "running")
    process.kill()
    process.wait()
    assert orphans.recover() == {1: "adopted"}
    orphans.go()
    assert outcome(cli, 1) == ("failure", 7)


# --- the owner is killed together with its job


def test_a_supervised_job_that_dies_with_its_supervisor_is_lost_and_gives_its_slot_back(
    orphans: Orphanage,
) -> None:
    cli = orphans.cli
    cli.configure(ONE_SLOT)
    job = orphans.begin("run", PATIENT, "--pool", "one", "--retries", 5)
    other = cli.run("run", "--pool", "one", "--", "true").id
    orphans.kill_owner(job)
    orphans.kill_target(job)
    orphans.recover()
    assert outcome(cli, job) == ("lost", None)
    assert outcome(cli, other) == ("success", 0)
    assert cli.run("pools", "--json").data["pools"][0]["used"] == 0


def test_a_queued_job_that_dies_with_its_worker_is_run_again_and_charged_no_retry(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = orphans.begin("add", "[ -e second ] || { touch second; sleep 600; }")
    orphans.kill_owner(job)
    orphans.kill_target(job)
    assert orphans.recover() == {job: "lost"}
    found = cli.show(job)
    assert (found["status"], found["outcome"], found["owner"]) == ("backoff", None, None)
    start_worker(cli)
    assert outcome(cli, job) == ("success", 0)
    assert [run["outcome"] for run in cli.show(job)["runs"]] == ["lost", "success"]


@BOTH
def test_a_job_that_kills_its_owner_has_ended_when_its_crash_budget_is_spent(
    orphans: Orphanage, kind: str
) -> None:
    cli = orphans.cli
    job = cli.run(kind, "--max-crashes", 2, "-c", "kill -9 $PPID; kill -9 $$").id
    other = cli.run(kind, "-c", "echo ran >> ran").id

    def crash_again() -> bool:
        if kind == "add":
            cli.popen("work", "--once", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait(timeout=60)
        until(lambda: not cli.processes(), "the end of the owner and of its job")
        orphans.foster.bury()
        cli.run("recover").check()
        return cli.phase(job) == "completed"

    until(crash_again, "the end of the job", 120)
    if kind == "add":
        start_worker(cli)
    assert outcome(cli, other) == ("success", 0)
    found = cli.show(job)
    assert (found["outcome"], found["reason"]) == ("lost", "owner_died")
    assert [run["outcome"] for run in found["runs"]] == ["lost"] * 3
    assert (cli.root / "ran").read_text() == "ran\n"


# --- the owner is killed before its job has started


def test_jobs_that_wait_get_new_supervisors_and_keep_all_that_they_had(orphans: Orphanage) -> None:
    cli = orphans.cli
    cli.configure(ONE_SLOT)
    holder = orphans.begin("run", PATIENT, "--pool", "one")
    parent = cli.run("run", "--wait", "--", "true").id
    in_line = cli.run("run", "--pool", "one", "--after-success", parent, "-c", "echo first >> order").id
    later = cli.run("run", "--pool", "one", "-c", "echo second >> order").id
    waiting = cli.run("run", "--wait-file", "there", "--job-timeout", "1h", "--", "true").id
    repeated = cli.run("run", "--retries", 3, "--retry-delay", "1h", "--", "false").id
    held = [in_line, waiting, repeated]
    until(lambda: cli.show(in_line)["phase"] == "queued", "the job in line")
    until(lambda: cli.show(repeated)["status"] == "backoff", "the failure")
    until(lambda: cli.show(waiting)["conditions"][0]["observed_at"], "a look")
    before = [_lasting(orphans, job) for job in held]
    # Who is in line looks for the dead as well: it is not to be first.
    bystander = orphans.owner(later)
    orphans.foster.stop(bystander)
    orphans.kill_owners(held)
    assert orphans.recover() == dict.fromkeys(held, "relaunched")
    os.kill(bystander, signal.SIGCONT)
    assert [_lasting(orphans, job) for job in held] == before
    for job in held:
        assert cli.show(job)["owner"]["life"] == "alive"
    orphans.go()
    (cli.root / "there").touch()
    cli.run("wait", holder, in_line, later, waiting, "--quiet")
    assert (cli.root / "order").read_text() == "first\nsecond\n"
    assert outcome(cli, waiting) == ("success", 0)
    cli.run("cancel", repeated).check()


def _lasting(orphans: Orphanage, job: int) -> list[object]:
    """What a change of owner must not touch."""
    columns = (
        "phase, outcome, next_run_at, due_boot, due_at, priority, bypass_count, round, attempts, failures,"
        " runs, crashes, watch_used, watch_wall, watch_mono, watch_boot, revision"
    )
    return [
        orphans.row(f"SELECT {columns} FROM jobs WHERE id = ?", job),
        orphans.store.execute("SELECT * FROM edges WHERE job_id = ?", (job,)).fetchall(),
        orphans.store.execute("SELECT * FROM runs WHERE job_id = ?", (job,)).fetchall(),
    ]


def test_a_new_supervisor_sees_a_run_to_its_end_though_others_that_came_with_it_sleep(
    orphans: Orphanage,
) -> None:
    cli = orphans.cli
    cli.run("limit", "1").check()
    running = orphans.begin("run", "until [ -e go ]; do sleep 0.02; done")
    child = cli.run("run", "--after-success", running, "--", "true").id
    behind = cli.run("run", "--", "true").id
    family = (running, child, behind)
    orphans.kill_owners(family)
    cli.run("recover").check()
    (cli.root / "go").touch()
    cli.run("wait", *family).check()
    assert [len(cli.show(job)["runs"]) for job in family] == [1, 1, 1]


def test_a_paused_or_delayed_job_gets_a_new_supervisor_too(orphans: Orphanage) -> None:
    cli = orphans.cli
    delayed = cli.run("run", "--after", "1h", "--", "true").id
    orphans.kill_owner(delayed)
    assert orphans.recover() == {delayed: "relaunched"}
    assert cli.show(delayed)["status"] == "scheduled"


def test_conditions_that_a_dead_worker_looked_at_are_looked_at_by_another(orphans: Orphanage) -> None:
    cli = orphans.cli
    start_worker(cli)
    job = cli.run("add", "--wait-file", "there", "--", "true").id
    until(lambda: cli.show(job)["owner"], "a worker that looks")
    dead = orphans.kill_owner(job)
    (cli.root / "there").touch()
    start_worker(cli)
    assert outcome(cli, job) == ("success", 0)
    events = cli.show(job)["events"]
    assert [event["to"] for event in events] == ["waiting", "queued", "starting", "running", "completed"]
    assert dead not in cli.processes()


def test_a_dependency_that_failed_while_a_dead_worker_held_the_job_is_judged_without_a_worker(
    orphans: Orphanage,
) -> None:
    cli = orphans.cli
    start_worker(cli)
    parent = cli.run("run", "-c", PATIENT).id
    job = cli.run("add", "--after-success", parent, "--wait-file", "never", "--", "true").id
    until(lambda: cli.show(job)["owner"], "a worker that looks")
    orphans.kill_owner(job)
    orphans.go()
    cli.run("wait", parent, "--quiet")
    orphans.recover()
    found = cli.show(job)
    assert (found["outcome"], found["reason"]) == ("aborted", "dependency_unsatisfied")


def test_recover_ends_a_queued_job_whose_time_is_over_without_a_worker(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = cli.run("add", "--job-timeout", "10ms", "--", "true").id
    until(lambda: not orphans.recover() and cli.phase(job) == "completed", "the end")
    assert cli.show(job)["reason"] == "job_timeout"


# --- who notices


def test_wait_notices_that_an_owner_has_died(orphans: Orphanage) -> None:
    job = orphans.begin("run", "sleep 600")
    waiter = orphans.cli.popen("wait", job)
    until(lambda: b"inturn.db" in _open_files(waiter.pid), "the waiting command")
    orphans.kill_owner(job)
    orphans.kill_target(job)
    assert waiter.wait(timeout=60) == 6
    assert waiter.stderr is not None
    assert b"ended as lost" in waiter.stderr.read()


def test_whoever_follows_the_output_of_a_job_notices_it_too(orphans: Orphanage) -> None:
    job = orphans.begin("run", "echo begun; sleep 600")
    reader = orphans.cli.popen("logs", "--follow", job)
    assert reader.stdout is not None
    assert reader.stdout.readline() == b"begun\n"
    orphans.kill_owner(job)
    orphans.kill_target(job)
    assert reader.wait(timeout=60) == 0
    assert orphans.cli.show(job)["outcome"] == "lost"


def _open_files(pid: int) -> bytes:
    try:
        names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return b""
    return os.fsencode(" ".join(names))


@pytest.mark.parametrize("words", [("add", "--", "true"), ("run", "--", "true")])
def test_a_submission_recovers_in_passing_what_a_late_owner_has_left(
    orphans: Orphanage, words: tuple[str, ...]
) -> None:
    job = orphans.begin("run")
    dead = orphans.kill_owner(job)
    orphans.let_leases_expire()
    orphans.cli.run(*words).check()
    assert orphans.owner(job) != dead


def test_a_dry_run_recovers_nothing(orphans: Orphanage) -> None:
    job = orphans.begin("run")
    dead = orphans.kill_owner(job)
    orphans.let_leases_expire()
    orphans.cli.run("run", "--dry-run", "--", "true").check()
    assert orphans.owner(job) == dead


def test_cancel_reaches_a_job_whose_owner_is_dead(orphans: Orphanage) -> None:
    job = orphans.begin("run", "sleep 600")
    orphans.kill_owner(job)
    orphans.cli.run("cancel", job).check()
    assert outcome(orphans.cli, job) == ("cancelled", None)


def test_of_two_who_recover_at_once_one_takes_each_job(orphans: Orphanage) -> None:
    cli = orphans.cli
    jobs = [orphans.begin("run")] + [
        cli.run("run", "--wait-file", "there", "--", "true").id for _ in range(5)
    ]
    orphans.kill_owners(jobs)
    both = [cli.popen("recover") for _ in range(2)]
    told = [process.communicate(timeout=60)[0].decode().splitlines() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(int(line.split("\t")[0]) for lines in told for line in lines) == jobs
    owners = [orphans.owner(job) for job in jobs]
    until(lambda: sorted(orphans.supervisors()) == sorted(owners), "one supervisor for each job")
    assert orphans.row("SELECT count(*) FROM owners")[0] == len(jobs)
    orphans.go()
    (cli.root / "there").touch()
    assert outcome(cli, jobs[0]) == ("failure", 7)
    cli.run("wait", *jobs[1:]).check()


# --- the owner lives, though it does not seem so


def test_an_owner_that_is_stopped_beyond_its_lease_keeps_its_job(orphans: Orphanage) -> None:
    cli = orphans.cli
    cli.configure(ONE_SLOT)
    job = orphans.begin("run", PATIENT, "--pool", "one")
    other = cli.run("run", "--pool", "one", "--", "true").id
    owner = orphans.owner(job)
    os.kill(owner, signal.SIGSTOP)
    try:
        orphans.let_leases_expire()
        orphans.go()
        assert orphans.recover() == {}
        cli.run("add", "--", "true").check()
        orphans.foster.bury()
        assert cli.show(job)["owner"]["pid"] == owner
        assert cli.phase(job) == "running"
        assert cli.phase(other) == "queued"
    finally:
        os.kill(owner, signal.SIGCONT)
    assert outcome(cli, job) == ("failure", 7)
    assert outcome(cli, other) == ("success", 0)


@BOTH
def test_an_owner_whose_lock_file_was_deleted_keeps_its_job(orphans: Orphanage, kind: str) -> None:
    cli = orphans.cli
    job = orphans.begin(kind)
    owner = orphans.owner(job)
    for lock in (cli.store / "owners").glob("*.lock"):
        lock.unlink()
    orphans.let_leases_expire()
    assert orphans.recover() == {}
    assert orphans.owner(job) == owner
    orphans.go()
    assert outcome(cli, job) == ("failure", 7)

"""What `doctor` finds wrong, what it mends, and what it must leave alone."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from inturn.core.health import NOTE, OK, PROBLEM
from inturn.core.layout import DATABASE
from inturn.host.logind import Logout
from inturn.service.premises import at_logout
from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until
from tests.e2e.orphans import PATIENT, Orphanage, orphanage

LONG_AGO = 1_000_000_000


@pytest.fixture
def orphans(cli: Cli) -> Iterator[Orphanage]:
    yield from orphanage(cli)


def examined(cli: Cli, *options: str, code: int = 0) -> dict[str, list[str]]:
    """What is no `ok`: messages by check, worst first; the exit code must be this."""
    data = cli.run("doctor", "--json", *options).check(code).data
    found: dict[str, list[str]] = {}
    for one in data["findings"]:
        if one["severity"] != OK and one["check"] != "boot":
            found.setdefault(one["check"], []).append(f"{one['severity']}: {one['message']}")
    assert bool(code) == bool(data["problems"])
    return found


def test_there_is_nothing_wrong_with_a_store_in_use(cli: Cli) -> None:
    start_worker(cli)
    jobs = [cli.run(kind, "-c", PATIENT).id for kind in ("run", "add")]
    for job in jobs:
        cli.wait_phase(job, "running")
    waiting = cli.run("run", "--after-success", jobs[0], "--", "true").id
    assert examined(cli) == {}
    plain = cli.run("doctor").check().text.splitlines()
    assert {line.split("\t")[0] for line in plain} <= {OK, NOTE}
    assert all(len(line.split("\t")) == 4 for line in plain)
    assert {line.split("\t")[1] for line in plain} >= {
        *("sqlite", "integrity", "schema", "counters", "admissions", "receipts"),
        *("owners", "jobs", "orphans", "files"),
        *("permissions", "file_system", "logout", "boot"),
    }
    (cli.root / "go").touch()
    cli.run("wait", *jobs, waiting, "--quiet")
    assert examined(cli) == {}


def test_where_there_is_no_store_nothing_is_wrong_and_nothing_is_made(cli: Cli) -> None:
    assert examined(cli) == {}
    assert examined(cli, "--repair") == {}
    assert not cli.store.exists()


# --- its directories


@pytest.mark.parametrize("name", ["logs", "owners"])
def test_a_directory_that_was_removed_is_found_and_made_again(cli: Cli, name: str) -> None:
    cli.run("run", "--wait", "--", "echo", "hi").check()
    shutil.rmtree(cli.store / name)
    (told,) = examined(cli, code=1)["files"]
    assert told.startswith(f"problem: {name}/ is missing")
    assert examined(cli, "--repair") == {}
    assert stat.S_IMODE((cli.store / name).stat().st_mode) == 0o700


def test_copies_of_an_upgrade_that_was_killed_are_found_and_removed_and_whole_ones_stay(cli: Cli) -> None:
    cli.run("add", "--", "true").check()
    whole = cli.store / "inturn.db.backup-1001"
    for suffix in ("", ".0123456789abcdef", ".0123456789abcdef-journal", ".fedcba9876543210"):
        whole.with_name(whole.name + suffix).touch()
    (told,) = examined(cli)["files"]
    assert told == "note: 2 copies of the database were begun by an upgrade that was killed"
    repaired = cli.run("doctor", "--repair", "--json").check().data["repaired"]
    assert "removed 2 unfinished copies of the database" in repaired
    assert list(cli.store.glob("*backup*")) == [whole]
    assert "files" not in examined(cli)


# --- the database


def test_wrong_counters_are_found_and_counted_anew(orphans: Orphanage) -> None:
    cli = orphans.cli
    cli.run("add", "--", "true").check()
    orphans.rewrite("UPDATE tallies SET jobs = 5")
    orphans.rewrite("INSERT INTO tallies VALUES ('ghost', '', 'queued', 2)")
    found = examined(cli, code=1)
    assert len(found["counters"]) == 2
    assert examined(cli, "--repair").keys() == {"queues"}
    assert orphans.store.execute("SELECT queue, jobs FROM tallies").fetchall() == [("default", 1)]


def test_slots_of_a_job_that_has_ended_are_found_and_given_back_and_no_others(orphans: Orphanage) -> None:
    cli = orphans.cli
    live = orphans.begin("run")
    done = cli.run("add", "--", "true").id
    cli.run("cancel", done).check()
    orphans.rewrite(
        "INSERT INTO admissions SELECT ?, 1, owner, '', 'default', 1, 0, '', 0 FROM admissions", done
    )
    assert any("holds slots" in told for told in examined(cli, code=1)["admissions"])
    assert examined(cli, "--repair") == {}
    assert orphans.store.execute("SELECT job_id FROM admissions").fetchall() == [(live,)]
    orphans.go()
    cli.run("wait", live, "--quiet")


def test_an_active_job_without_slots_is_found_and_left_alone(orphans: Orphanage) -> None:
    job = orphans.begin("run")
    orphans.rewrite("DELETE FROM admissions")
    assert examined(orphans.cli, "--repair", code=1)["admissions"] == [
        f"problem: job {job} is running and holds no slots"
    ]
    orphans.go()


def test_a_schema_that_was_made_by_other_migrations_than_ours_is_found(orphans: Orphanage) -> None:
    orphans.cli.run("run", "--wait", "--", "true").check()
    orphans.rewrite("DELETE FROM migrations WHERE number = 2")
    orphans.rewrite("UPDATE migrations SET checksum = checksum - 1 WHERE number = 3")
    # What a newer inturn has done as well is its own business.
    orphans.rewrite("INSERT INTO migrations (number, checksum, applied_at) VALUES (99, 1, 1)")
    assert examined(orphans.cli, code=1)["schema"] == [
        "problem: migration 2 of the schema was never recorded",
        "problem: migration 3 of the schema was another one than that of this inturn",
    ]


def test_a_job_that_went_on_without_its_dependency_is_found(orphans: Orphanage) -> None:
    cli = orphans.cli
    parent = cli.run("run", "--after", "1h", "--", "true").id
    job = cli.run("add", "--after-success", parent, "--", "true").id
    orphans.rewrite("UPDATE jobs SET phase = 'queued' WHERE id = ?", job)
    assert examined(cli, code=1)["receipts"] == [
        f"problem: job {job} has gone on although job {parent} has not been judged"
    ]
    cli.run("cancel", parent, job).check()


def test_a_dependent_that_would_never_be_told_is_found_and_told(orphans: Orphanage) -> None:
    cli = orphans.cli
    parent = cli.run("run", "--wait", "--", "true").id
    other = cli.run("run", "--after", "1h", "--", "true").id
    job = cli.run("add", "--after-success", other, "--", "true").id
    orphans.rewrite("UPDATE edges SET parent_id = ?", parent)
    assert examined(cli, code=1)["dependents"]
    assert "dependents" not in examined(cli, "--repair")
    cli.run("wait", parent).check()
    assert cli.phase(job) == "queued"
    cli.run("cancel", other).check()


def test_damage_is_told_and_nothing_more_is_read(orphans: Orphanage) -> None:
    cli = orphans.cli
    cli.run("add", "--", "true").check()
    orphans.rewrite("PRAGMA writable_schema = ON")
    orphans.store.execute("PRAGMA foreign_keys = OFF")
    orphans.rewrite("UPDATE specs SET environment = 99")
    found = examined(cli, code=1)
    assert found["integrity"] == ["problem: row 1 of specs refers to a row of environments that is not there"]
    assert "counters" not in found


@pytest.mark.parametrize("table", ["tallies", "jobs", "specs", "owners"])
def test_a_page_that_was_overwritten_is_told(cli: Cli, table: str) -> None:
    cli.run("run", "--wait", "--", "true").check()
    until(lambda: not cli.processes(), "the end of the supervisor")
    with closing(apsw.Connection(str(cli.store / DATABASE))) as connection:
        connection.pragma("wal_checkpoint(TRUNCATE)")
        query = "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?"
        ((page, size),) = connection.execute(query, (table,)).fetchall()
    assert isinstance(page, int)
    assert isinstance(size, int)
    with open(cli.store / DATABASE, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    found = examined(cli, code=1)
    assert found["integrity"]
    assert "counters" not in found
    shutil.rmtree(cli.store)  # nothing can be asked of it any more


def test_a_live_job_that_nobody_answers_for_is_found(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = cli.run("run", "--after", "1h", "--", "true").id
    orphans.rewrite("UPDATE jobs SET owner = NULL WHERE id = ?", job)
    assert examined(cli, code=1)["jobs"] == [f"problem: nobody answers for job {job}, though somebody should"]
    cli.run("cancel", job).check()


# --- owners


def test_a_dead_owner_is_a_problem_that_recover_solves(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = orphans.begin("run")
    orphans.kill_owner(job)
    assert "is dead and has job 1" in examined(cli, code=1)["owners"][0]
    assert examined(cli, "--repair") == {}
    assert cli.show(job)["owner"]["life"] == "alive"
    orphans.go()
    cli.run("wait", job, "--quiet")


def test_an_owner_that_cannot_be_verified_is_told_and_left_alone(orphans: Orphanage) -> None:
    cli = orphans.cli
    job = orphans.begin("run")
    for text in orphans.identities():
        orphans.rewrite("UPDATE owners SET identity = ?", text.rpartition(":")[0] + ":1")
    (lock,) = (cli.store / "owners").glob("*.lock")
    lock.rename(cli.root / "lock")
    assert "cannot be told" in examined(cli, "--repair", "--yes", code=1)["owners"][0]
    assert orphans.row("SELECT count(*) FROM admissions") == (1,)
    (cli.root / "lock").rename(lock)
    assert examined(cli) == {}
    orphans.go()
    cli.run("wait", job, "--quiet")


def test_a_queue_that_nobody_serves_is_noted(cli: Cli) -> None:
    cli.run("add", "--queue", "gpu", "--", "true").check()
    (told,) = examined(cli)["queues"]
    assert told == "note: no live worker serves the queue gpu, where 1 of its jobs stand"


# --- processes


def orphan(orphans: Orphanage, script: str = "trap '' TERM; exec sleep 600") -> tuple[int, int]:
    """A job that has ended, by its id, and a process that was left of it by a fault that we simulate."""
    cli = orphans.cli
    child = f"sh -c '{script.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}' & echo $! > left"
    job = cli.run("run", "--leave-children", "--stop-grace", "300ms", "-c", child).id
    cli.run("wait", job).check()
    pid = int((cli.root / "left").read_text())
    orphans.rewrite("UPDATE specs SET leave_children = 0 WHERE job_id = ?", job)
    return job, pid


@pytest.mark.allow_leftovers
def test_a_process_that_is_left_of_a_run_is_ended_only_with_yes(orphans: Orphanage) -> None:
    cli = orphans.cli
    job, pid = orphan(orphans)
    told = examined(cli, code=1)["orphans"]
    assert told == [f"problem: process {pid} is left of run 1 of job {job}, which is over"]
    assert examined(cli, "--repair", code=1)["orphans"] == told
    os.kill(pid, 0)
    assert examined(cli, "--repair", "--yes") == {}
    orphans.foster.bury()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.allow_leftovers
def test_an_orphan_that_listens_ends_by_term_also_when_it_was_stopped(orphans: Orphanage) -> None:
    cli = orphans.cli
    _, pid = orphan(orphans, "trap 'echo term > heard; exit' TERM; while :; do sleep 0.05; done")
    os.kill(pid, signal.SIGSTOP)
    orphans.rewrite("UPDATE specs SET stop_grace = 60000000")
    assert examined(cli, "--repair", "--yes") == {}
    assert (cli.root / "heard").read_text() == "term\n"


@pytest.mark.allow_leftovers
def test_what_was_left_on_purpose_and_what_runs_is_nobodys_orphan(orphans: Orphanage) -> None:
    cli = orphans.cli
    left = cli.run("run", "--leave-children", "-c", "sleep 600 & echo $! > left").id
    cli.run("wait", left).check()
    running = orphans.begin("run")
    pid = int((cli.root / "left").read_text())
    assert examined(cli, "--repair", "--yes") == {}
    os.kill(pid, 0)
    assert cli.phase(running) == "running"
    os.kill(pid, signal.SIGKILL)
    orphans.go()
    cli.run("wait", running, "--quiet")


def test_a_process_of_another_store_is_none_of_ours(cli: Cli, tmp_path: Path) -> None:
    cli.run("run", "--wait", "--", "true").check()
    stranger = subprocess.Popen(["sleep", "600"], env={**os.environ, "INTURN_COOKIE": "c0ffee"})
    try:
        assert examined(cli, "--repair", "--yes") == {}
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


# --- files


def test_files_of_owners_that_nobody_knows_are_removed_once_they_are_old_and_free(orphans: Orphanage) -> None:
    cli = orphans.cli
    cli.run("run", "--wait", "--", "true").check()
    place = cli.store / "owners"
    job = orphans.begin("run")
    theirs = set(place.iterdir())
    for name in ("old.lock", "old.wake", "young.lock"):
        (place / name).touch()
    os.utime(place / "old.lock", (LONG_AGO, LONG_AGO))
    os.utime(place / "old.wake", (LONG_AGO, LONG_AGO))
    for path in theirs:
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert examined(cli)["files"] == ["note: 1 dead processes have left files in owners/"]
    assert examined(cli, "--repair") == {}
    assert set(place.iterdir()) == {*theirs, place / "young.lock"}
    orphans.go()
    cli.run("wait", job, "--quiet")


def test_logs_of_removed_jobs_are_removed_and_those_of_unknown_ones_are_a_problem(cli: Cli) -> None:
    job = cli.run("run", "--wait", "--", "echo", "out").id
    gone = cli.run("run", "--wait", "--", "echo", "out").id
    cli.run("prune", "--force", "--older-than", "0").check()
    logs = cli.store / "logs" / "0"
    for name in (f"{job}.1.out", f"{gone}.1.idx", "77.1.out"):
        (logs / name).touch()
    found = examined(cli, code=1)["files"]
    assert found[0] == "note: 2 logs are of jobs that were removed"
    assert found[1].startswith("problem: 1 logs are of jobs that the database does not know yet")
    assert len(examined(cli, "--repair", code=1)["files"]) == 1
    assert [path.name for path in logs.iterdir()] == ["77.1.out"]


def test_empty_directories_of_logs_that_no_job_will_use_are_noted_and_removed(orphans: Orphanage) -> None:
    cli = orphans.cli
    cli.run("run", "--wait", "--", "echo", "out").check()
    orphans.rewrite("UPDATE sqlite_sequence SET seq = 3999 WHERE name = 'jobs'")
    cli.run("run", "--wait", "--", "echo", "out").check()
    logs = cli.store / "logs"
    for number in ("1", "2", "3", "5"):
        (logs / number).mkdir()
    (logs / "2" / "notes").touch()
    (logs / "3" / "3999.1.out").touch()
    assert examined(cli)["files"] == [
        "note: 1 logs are of jobs that were removed",
        "note: 1 directories of logs are empty, and of jobs that were removed",
    ]
    assert examined(cli, "--repair") == {}
    # Of jobs that there are, with something foreign, of the present thousand, and beyond it.
    assert sorted(path.name for path in logs.iterdir()) == ["0", "2", "4", "5"]


def test_a_store_that_others_can_look_into_and_a_diary_of_deaths_are_noted(cli: Cli) -> None:
    cli.run("run", "--wait", "--", "true").check()
    (cli.store / "errors.log").write_text("it died\n")
    cli.store.chmod(0o755)
    (cli.store / "logs").chmod(0o750)
    found = examined(cli)
    assert found["permissions"] == [f"note: others can look into {cli.store}, {cli.store / 'logs'}"]
    assert "errors" in found


# --- the machine


@pytest.mark.parametrize(
    ("logout", "severity"),
    [
        (Logout(False, False, None), OK),
        (Logout(True, False, None), OK),
        (Logout(True, True, True), PROBLEM),
        (Logout(True, True, False), PROBLEM),
        (Logout(True, None, None), NOTE),
    ],
)
def test_a_system_that_ends_jobs_at_logout_is_a_problem(logout: Logout, severity: str) -> None:
    (found,) = at_logout(logout)
    assert found.severity == severity
    assert bool(found.fix) == (severity != OK)


# --- a copy


def test_the_copy_is_whole_and_private_while_others_write(cli: Cli) -> None:
    start_worker(cli)
    cli.run("add", "--array", "1-200", "--", "true").check()
    told = cli.run("doctor", "--backup", "copy.db").check()
    copy = cli.root / "copy.db"
    assert told.text == f"{copy}\n"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert not [name for name in os.listdir(cli.root) if name.startswith("copy.db") and name != "copy.db"]
    database = apsw.Connection(str(copy))
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert database.execute("SELECT count(*) FROM jobs").fetchall() == [(200,)]
    database.close()
    cli.run("cancel", "--queue", "default", "--yes")
    until(lambda: cli.run("status", "--json").data["running"] == 0, "the end")


def test_a_copy_is_a_store_like_its_original(cli: Cli, tmp_path: Path) -> None:
    job = cli.run("run", "--wait", "--name", "x", "--", "true").id
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    copy = str(other / "inturn.db")
    assert cli.run("doctor", "--json", "--backup", copy).check().data == {"backup": copy}
    assert (
        cli.run("--dir", str(other), "list", "--json").check().data == cli.run("list", "--json").check().data
    )
    assert cli.run("--dir", str(other), "add", "--", "true").id == job + 1


def test_a_file_that_is_there_is_never_overwritten(cli: Cli) -> None:
    cli.run("run", "--wait", "--", "true").check()
    (cli.root / "copy.db").write_text("precious")
    assert cli.run("doctor", "--backup", "copy.db", "--json").check(5).json["error"]["code"] == "conflict"
    (cli.root / "link.db").symlink_to("copy.db")
    assert cli.run("doctor", "--backup", "link.db").code == 5
    assert (cli.root / "copy.db").read_text() == "precious"
    assert cli.run("doctor", "--backup", "no/such/directory/copy.db").code == 1
    assert sorted(path.name for path in cli.root.iterdir()) == ["copy.db", "link.db", "store"]


@pytest.mark.parametrize("options", [("--backup", "x", "--repair"), ("--yes",)])
def test_options_that_make_no_sense_together_are_refused(cli: Cli, options: tuple[str, ...]) -> None:
    assert cli.run("doctor", "--json", *options).check(2).json["error"]["code"] == "usage"

from __future__ import annotations

from tests.e2e.harness import Cli


def test_a_running_job_is_stopped_with_all_its_processes(cli: Cli) -> None:
    job = cli.run("run", "--", "sh", "-c", "setsid sleep 600 & sleep 600").id
    cli.wait_phase(job, "running")
    assert cli.run("cancel", job).check().text == f"{job}\tstopping\n"
    assert cli.run("wait", job, "--quiet").code == 6
    assert cli.show(job)["outcome"] == "cancelled"
    assert [line for line in cli.processes().values() if "sleep" in line] == []


def test_a_waiting_job_ends_at_once(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "never", "--name", "held", "--", "true").id
    answer = cli.run("cancel", "held", "--json").check()
    assert answer.data == [
        {"id": job, "name": "held", "result": "cancelled", "phase": "completed", "outcome": "cancelled"}
    ]


def test_what_has_ended_is_a_conflict_and_beside_others_incomplete(cli: Cli) -> None:
    done = cli.run("run", "--wait", "--", "true").id
    refused = cli.run("cancel", done).check(5)
    assert refused.out == b""
    assert b"already ended" in refused.err
    assert cli.run("cancel", done, "--json").check(5).json["error"]["code"] == "conflict"
    held = cli.run("run", "--wait-file", "never", "--", "true").id
    assert cli.run("cancel", done, held).check(6).text == f"{done}\tended\n{held}\tcancelled\n"


def test_more_than_one_job_picked_by_a_filter_wants_a_yes(cli: Cli) -> None:
    held = [cli.run("run", "--wait-file", "never", "--tag", "k=v", "--", "true").id for _ in range(2)]
    other = cli.run("run", "--wait-file", "never", "--", "true").id
    asked = cli.run("cancel", "--tag", "k=v").check(2)
    assert all(f"job {job}: waiting".encode() in asked.err for job in held)
    assert {cli.phase(job) for job in held} == {"waiting"}
    assert cli.run("cancel", "--tag", "k=v", "--yes").check().text == "".join(
        f"{job}\tcancelled\n" for job in held
    )
    assert cli.run("cancel", "--status", "waiting").check().text == f"{other}\tcancelled\n"


def test_a_filter_that_matches_nothing_that_could_be_cancelled_is_an_error(cli: Cli) -> None:
    cli.run("run", "--wait", "--tag", "k", "--", "true")
    cli.run("cancel", "--tag", "k", "--yes").check(3)


def test_it_wants_to_know_which_job(cli: Cli) -> None:
    job = cli.run("run", "--wait", "--", "true").id
    cli.run("cancel").check(2)
    cli.run("cancel", job, "--status", "live").check(2)
    cli.run("cancel", "--status", "nonsense").check(2)
    cli.run("cancel", job + 1).check(3)


def test_where_there_is_no_store_there_is_no_job_and_none_is_created(cli: Cli) -> None:
    cli.run("cancel", 1).check(3)
    cli.run("cancel", "--status", "live").check(3)
    assert not cli.store.exists()

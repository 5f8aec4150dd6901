"""Jobs that are changed before they have started, while somebody owns them or nobody does."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli


def test_a_job_whose_owner_waits_for_it_runs_as_it_was_edited(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait-file", "there", "--", "false").id
    cli.wait_phase(job, "waiting")
    cli.run("edit", job, "--name", "new", "--note", "changed", "--", "printf", "%s", "-x", "--yes").check()
    (cli.root / "there").touch()
    cli.run("wait", job).check()
    assert cli.run("logs", "new").out == b"-x--yes"
    shown = cli.show(job)
    assert shown["spec"]["note"] == "changed"
    (event,) = [one for one in shown["events"] if one["kind"] == "edited"]
    assert (event["from"], event["to"], event["reason"]) == ("waiting", "waiting", "name, note, argv")


def test_a_shell_command_can_be_given_too(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--after", "1h", "--", "false").id
    cli.run("edit", job, "-c", "echo $((6*7))", "--after", "0").check()
    cli.run("wait", job).check()
    assert cli.run("logs", job).text == "42\n"


def test_a_delay_can_be_made_longer_and_shorter(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--after", "1h", "--", "true").id
    assert cli.show(job)["status"] == "scheduled"
    cli.run("edit", job, "--after", "2h").check()
    told = cli.run("edit", job, "--at", "2100-01-01").check()
    assert b"--at: 2100-01-01 00:00:00" in told.err
    assert cli.show(job)["next_run_at"].startswith(("2099-12-31", "2100-01-01"))
    cli.run("edit", job, "--at", "2000-01-01").check()
    cli.run("wait", job).check()


def test_a_priority_decides_who_is_next(cli: Cli) -> None:
    first, second = (cli.run("add", "-c", f"echo {n} >> order").id for n in (1, 2))
    cli.run("edit", second, "--priority", "5").check()
    cli.run("edit", first, "--priority", "-5").check()
    cli.run("work", "--drain").check()
    assert (cli.root / "order").read_text() == "2\n1\n"


def test_a_job_can_be_moved_to_another_queue(cli: Cli) -> None:
    start_worker(cli, "--queue", "fast")
    job = cli.run("add", "--queue", "slow", "--", "true").id
    cli.run("edit", job, "--queue", "fast").check()
    cli.run("wait", job).check()
    assert cli.show(job)["queue"] == "fast"


def test_a_job_can_be_moved_into_a_pool_and_out_of_it(cli: Cli, verb: str) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {p: 1}}\n")
    blocker = cli.run(verb, "--pool", "p", "--", "sleep", "317").id
    cli.wait_phase(blocker, "running")
    job = cli.run(verb, "--pool", "p", "--", "true").id
    cli.wait_phase(job, "queued")
    cli.run("edit", job, "--no-pool").check()
    cli.run("wait", job).check()
    cli.run("edit", job, "--pool", "p").check(5)


def test_what_runs_is_as_it_is_and_beside_others_the_answer_is_in_part(cli: Cli, verb: str) -> None:
    running = cli.run(verb, "--", "sleep", "317").id
    cli.wait_phase(running, "running")
    assert cli.run("edit", running, "--priority", "1", "--json").check(5).json["error"]["code"] == "conflict"
    waiting = cli.run(verb, "--wait-file", "never", "--", "true").id
    told = cli.run("edit", running, waiting, "--priority", "1").check(6)
    assert told.text == f"{running}\tunchanged\n{waiting}\tedited\n"
    assert f"job {running}: it is running".encode() in told.err


def test_an_edit_that_a_submission_would_refuse_changes_nothing(cli: Cli, verb: str) -> None:
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 4, pools: {p: 2}}\n")
    job = cli.run(verb, "--wait-file", "never", "--job-timeout", "1h", "--", "true").id
    before = cli.show(job)
    for words, code in (
        (("--pool", "nowhere"), "unknown_pool"),
        (("--pool", "p", "--slots", "3"), "impossible"),
        (("--slots", "5"), "impossible"),
        (("--after", "2h"), "invalid_value"),
        (("--name", "7"), "invalid_value"),
        (("--priority", "high"), "invalid_value"),
        (("--after", "1h", "--at", "2100-01-01"), "usage"),
        (("-c", "true", "--", "true"), "usage"),
        (("--pool", "p", "--no-pool"), "usage"),
        (("--",), "usage"),
        ((), "usage"),
    ):
        refused = cli.run("edit", job, "--json", *words).check(2)
        assert refused.json["error"]["code"] == code
    assert cli.show(job)["events"] == before["events"]
    assert cli.show(job)["spec"] == before["spec"]


def test_a_supervised_job_is_in_no_queue(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "never", "--", "true").id
    cli.run("edit", job, "--queue", "q").check(2)


def test_a_filter_picks_what_can_be_edited(cli: Cli) -> None:
    jobs = [cli.run("add", "--tag", "k", "--", "true").id for _ in range(2)]
    cli.run("edit", "--tag", "k", "--priority", "1").check(2)
    cli.run("edit", "--tag", "k", "--priority", "1", "--queue", "other", "--yes").check()
    assert [cli.show(job)["queue"] for job in jobs] == ["other", "other"]
    cli.run("edit", "--tag", "none", "--priority", "1").check(3)


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_its_help_names_the_command(cli: Cli, option: str) -> None:
    told = cli.run("edit", "1", option).check().text
    assert "inturn edit JOB… [OPTIONS] [-- COMMAND [ARG…]]" in told
    assert "--no-pool" in told

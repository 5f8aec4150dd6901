"""`workers` and `queues`, and what `why` says of a queue that nobody serves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until
from tests.e2e.orphans import PATIENT, Orphanage, orphanage


@pytest.fixture
def orphans(cli: Cli) -> Iterator[Orphanage]:
    yield from orphanage(cli)


def test_where_there_is_nothing_nothing_is_shown_or_made(cli: Cli) -> None:
    for verb in ("workers", "queues"):
        assert cli.run(verb).check().text == ""
        assert cli.run(verb, "--json").check().data == []
    assert not cli.store.exists()


def test_every_owner_is_listed_with_what_it_is_and_what_it_has(cli: Cli) -> None:
    supervised = cli.run("run", "-c", PATIENT).id
    worker = start_worker(cli, "--queue", "gpu", "--queue", "cpu", "--slots", 3, "-j", 2)
    queued = cli.run("add", "--queue", "gpu", "-c", PATIENT).id
    for job in (supervised, queued):
        cli.wait_phase(job, "running")
    supervisor, working = sorted(cli.run("workers", "--json").check().data, key=lambda one: str(one["kind"]))
    assert (supervisor["kind"], supervisor["life"], supervisor["jobs"]) == (
        "supervisor",
        "alive",
        [supervised],
    )
    assert (supervisor["accepting"], supervisor["queues"]) == (None, [])
    assert (working["kind"], working["pid"], working["life"]) == ("worker", worker.pid, "alive")
    assert working["queues"] == [{"name": "cpu", "ceiling": 3}, {"name": "gpu", "ceiling": 3}]
    assert (working["places"], working["busy"], working["accepting"]) == (2, 1, True)
    assert working["jobs"] == [queued]
    assert working["lease_expires_at"] is not None
    rows = [line.split("\t") for line in cli.run("workers").check().text.splitlines()]
    row = next(row for row in rows if row[1] == "worker")
    assert row[2:9] == [str(worker.pid), "alive", "true", "2", "1", "cpu:3,gpu:3", str(queued)]
    (cli.root / "go").touch()
    cli.run("wait", supervised, queued, "--quiet")


def test_a_worker_that_was_killed_is_dead_until_somebody_recovers(orphans: Orphanage) -> None:
    cli = orphans.cli
    worker = start_worker(cli)
    until(lambda: cli.run("workers", "--json").data, "the worker")
    worker.kill()
    worker.wait()
    (listed,) = cli.run("workers", "--json").check().data
    assert listed["life"] == "dead"
    orphans.recover()
    assert cli.run("workers", "--json").check().data == []


def test_a_worker_whose_life_cannot_be_told_is_unverified(orphans: Orphanage) -> None:
    cli = orphans.cli
    start_worker(cli)
    until(lambda: cli.run("workers", "--json").data, "the worker")
    (text,) = orphans.row("SELECT identity FROM owners")
    orphans.rewrite("UPDATE owners SET identity = ?", text.rpartition(":")[0] + ":1")
    for lock in (cli.store / "owners").glob("*.lock"):
        lock.unlink()
    assert cli.run("workers").check().text.split("\t")[3] == "unverified"


def test_a_queue_says_what_stands_in_it_who_serves_it_and_whether_it_is_settled(cli: Cli) -> None:
    cli.run("add", "--queue", "later", "--after", "1h", "--", "true").check()
    cli.run("add", "--queue", "now", "--", "true").check()
    job = cli.run("add", "--queue", "later", "--wait-file", "there", "--", "true").id
    later, now = cli.run("queues", "--json").check().data
    assert (later["name"], later["scheduled"], later["waiting"], later["queued"]) == ("later", 1, 1, 1)
    assert (later["settled"], later["unsettled"]) == (True, None)
    assert (now["settled"], now["unsettled"], now["queued"]) == (False, "eligible", 1)
    assert (later["ceilings"], later["workers"]) == ([], [])
    worker = start_worker(cli, "--queue", "later", "--slots", 2)
    until(lambda: cli.run("queues", "--json").data[0]["workers"], "the worker")
    served = cli.run("queues", "--json").check().data[0]
    assert served["ceilings"] == [2]
    assert [(one["pid"], one["life"], one["ceiling"]) for one in served["workers"]] == [
        (worker.pid, "alive", 2)
    ]
    lines = [line.split("\t") for line in cli.run("queues").check().text.splitlines()]
    assert lines[0][:7] == ["later", "1", "1", "1", "0", "false", "2"]
    assert lines[0][8:] == ["true", "-"]
    assert lines[1] == ["now", "1", "0", "0", "0", "false", "-", "-", "false", "eligible"]
    cli.run("cancel", job).check()


def test_a_queue_with_a_running_job_a_backoff_or_a_moving_dependency_is_not_settled(cli: Cli) -> None:
    start_worker(cli)
    running = cli.run("add", "-c", PATIENT).id
    repeated = cli.run("add", "--queue", "again", "--retries", 1, "--retry-delay", "1h", "--", "false").id
    parent = cli.run("run", "-c", PATIENT).id
    cli.run("add", "--queue", "after", "--after-success", parent, "--", "true").check()
    start_worker(cli, "--queue", "again")
    cli.wait_phase(running, "running")
    until(lambda: cli.show(repeated)["status"] == "backoff", "the failure")
    told = {queue["name"]: queue["unsettled"] for queue in cli.run("queues", "--json").check().data}
    assert told == {"default": "active", "again": "backoff", "after": "dependency"}
    (cli.root / "go").touch()
    cli.run("cancel", repeated).check()
    cli.run("wait", running, parent, "--quiet")


def test_a_queue_whose_only_worker_is_dead_is_said_to_be_served_by_nobody(orphans: Orphanage) -> None:
    cli = orphans.cli
    worker = start_worker(cli)
    until(lambda: cli.run("workers", "--json").data, "the worker")
    worker.kill()
    worker.wait()
    # Submitting would notice a worker that is late with its lease; this one had none.
    jobs = [
        cli.run("add", *options, "--", "true").id
        for options in ((), ("--after", "1h"), ("--wait-file", "there"))
    ]
    for job in jobs:
        reasons = cli.run("why", job, "--json").check().data["reasons"]
        fixes = {reason["code"]: reason["fix"] for reason in reasons}
        assert fixes["no_worker"] == "inturn work --queue default"
        assert "workers_busy" not in fixes
        assert "about_to_start" not in fixes
    assert not cli.run("queues").check().text.split("\t")[7].isdigit()

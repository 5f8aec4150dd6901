"""“The full claim order is: priority DESC, next_run_at ASC, id ASC”, whoever submitted the jobs, and how."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from datetime import datetime
from random import Random
from typing import Any

from tests.e2e.harness import Cli, until
from tests.e2e.ledger import admitted
from tests.e2e.shells import environment

SUBMITTERS = 8
BATCHES = 5  # a submitter's

PRIORITIES = (-(2**31), -7, -1, 0, 0, 0, 1, 7, 2**31 - 1)
WHEN: tuple[dict[str, str], ...] = (
    *({},) * 6,
    {"at": "2001-01-01"},  # in the past: now
    *({"after": "50ms"}, {"after": "0.2"}, {"after": "400ms"}),
    *({"after": "1h"}, {"at": "2099-12-31"}),
)

NOTE = ["sh", "-c", "echo $INTURN_JOB_ID >>ran"]


def submit(cli: Cli, jobs: int, command: list[str]) -> list[int]:
    """Submit so many jobs from several processes at once; returns their ids."""
    random = Random(20)
    for submitter in range(SUBMITTERS):
        for batch in range(BATCHES):
            lines = [
                json.dumps({"command": command, "priority": random.choice(PRIORITIES), **random.choice(WHEN)})
                for _ in range(jobs // SUBMITTERS // BATCHES)
            ]
            (cli.root / f"jobs.{submitter}.{batch}").write_text("\n".join(lines))
    script = "for file in jobs.{0}.*; do inturn add --from-file $file || echo failed; done"
    submitters = [
        subprocess.Popen(
            ["sh", "-c", script.format(submitter)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=environment(cli),
            cwd=cli.root,
        )
        for submitter in range(SUBMITTERS)
    ]
    printed = [submitter.communicate()[0].split() for submitter in submitters]
    ids = [int(line) for lines in printed for line in lines]
    assert sorted(ids) == list(range(1, jobs + 1))
    return ids


def listed(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli.run("list", "--all", "--json").check().data
    return found


def await_elapsed(cli: Cli) -> int:
    """Wait until the short delays are over; returns how many jobs remain delayed."""
    jobs = listed(cli)
    delayed = [job for job in jobs if job["next_run_at"] > job["submitted_at"]]
    far = sum(delay(job) > 60 for job in delayed)

    # A time that has passed means now.
    assert all(job["next_run_at"] >= job["submitted_at"] for job in jobs)

    def scheduled() -> int:
        return int(cli.run("status", "--json").check().data["scheduled"])

    until(lambda: scheduled() == far, "the end of the short delays")
    assert 0 < far < len(delayed)
    return far


def delay(job: dict[str, Any]) -> float:
    """In seconds."""
    at, since = (datetime.fromisoformat(job[key]) for key in ("next_run_at", "submitted_at"))
    return (at - since).total_seconds()


def place(job: dict[str, Any]) -> tuple[int, str, int]:
    """The sort key of the claim order; times in RFC 3339 sort as texts."""
    return (-job["priority"], job["next_run_at"], job["id"])


def test_one_worker_takes_all_that_is_due_exactly_in_the_order_of_the_line(cli: Cli) -> None:
    ids = submit(cli, 10_000, ["true"])
    far = await_elapsed(cli)
    before = {job["id"]: job for job in listed(cli)}
    cli.run("work", "--drain", timeout=240).check()

    order = admitted(cli, ids)
    assert len(order) == len(ids) - far
    assert order == sorted(order, key=lambda job: place(before[job]))
    after = {job["id"]: job for job in listed(cli)}
    assert {job: place(after[job]) for job in ids} == {job: place(before[job]) for job in ids}
    left = [job for job in after.values() if job["outcome"] != "success"]
    assert {(job["status"], job["attempts"]) for job in left} == {("scheduled", 0)}
    assert len(left) == far


def test_of_eight_workers_none_runs_what_another_has_run_and_nothing_is_left_over(cli: Cli) -> None:
    ids = submit(cli, 1000, NOTE)
    far = await_elapsed(cli)
    workers = [cli.popen("work", "--drain", "-j", 1 + number % 2) for number in range(8)]
    told = [worker.communicate(timeout=240) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 8, told
    assert set(told) == {(b"", b"")}

    ran = Counter(map(int, (cli.root / "ran").read_text().split()))
    jobs = listed(cli)
    assert set(ran) == {job["id"] for job in jobs if job["outcome"] == "success"}
    assert set(ran.values()) == {1}
    assert len(ran) == len(ids) - far
    assert Counter(admitted(cli, ids)) == ran
    assert Counter(job["status"] for job in jobs) == {"success": len(ids) - far, "scheduled": far}

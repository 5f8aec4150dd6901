"""A worker with more places than it has descriptors for: none of its jobs pays for that."""

from __future__ import annotations

import resource
import subprocess

import pytest

from inturn.host.descriptors import KEPT
from tests.e2e.harness import DEADLINE, INTURN, Cli, until

JOBS = 24

# Says what it has printed as well, so that the logs get an index, and leaves somebody behind.
WAITS = "echo $INTURN_JOB_ID >>ran; echo out; sleep 600 & until [ -e go ]; do sleep 0.02; done"


@pytest.mark.parametrize("limit", [24, 32])
def test_a_worker_runs_as_many_jobs_as_it_can_and_the_others_after_them(cli: Cli, limit: int) -> None:
    jobs = cli.run("add", "--array", f"1-{JOBS}", "-c", WAITS).ids
    worker = subprocess.Popen(
        ["bash", "-c", f'ulimit -n {limit}; exec "$@"', "bash", INTURN, "work", "--drain", "-j", str(JOBS)],
        env=cli.environment(),
        cwd=cli.root,
        stderr=subprocess.PIPE,
    )
    try:

        def put_off() -> list[int]:
            shown = cli.run("list", "--all", "--json").data
            counted = {one["phase"] for one in shown}
            return [one["id"] for one in shown if one["phase"] == "queued"] if "running" in counted else []

        job = until(put_off, "a job that cannot be started beside those that run")[-1]

        def explained() -> bool:
            # At any moment it may just be tried once more.
            why = cli.run("why", job).text
            return "through no fault of the job" in why and "ulimit -n" in why

        until(explained, "that it was tried, and is put off")
        assert {run["failure"] for run in cli.show(job)["runs"]} <= {"out_of_resources", None}
        (cli.root / "go").touch()
        _, errors = worker.communicate(timeout=2 * DEADLINE)
    finally:
        (cli.root / "go").touch()
        worker.kill()
        worker.communicate()
    assert (worker.returncode, errors) == (0, b"")
    ended = [cli.show(job) for job in jobs]
    assert [(job["outcome"], job["attempts"]) for job in ended] == [("success", 1)] * JOBS
    assert sorted(map(int, (cli.root / "ran").read_text().split())) == jobs


def test_a_supervised_job_whose_supervisor_lacks_descriptors_runs_when_it_has_them(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "gate", "-c", "echo >>ran").id
    owner = cli.wait_phase(job, "waiting")["owner"]["pid"]
    before = resource.prlimit(owner, resource.RLIMIT_NOFILE, (KEPT, KEPT + 100))
    (cli.root / "gate").touch()
    until(lambda: len(cli.show(job)["runs"]) > 1, "that it was tried twice")
    assert {run["failure"] for run in cli.show(job)["runs"]} == {"out_of_resources"}
    assert not (cli.root / "ran").exists()
    resource.prlimit(owner, resource.RLIMIT_NOFILE, (min(before[0], KEPT + 100), KEPT + 100))
    assert cli.run("wait", job, "--quiet").code == 0
    assert cli.show(job)["attempts"] == 1
    assert (cli.root / "ran").read_text() == "\n"

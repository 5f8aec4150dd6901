"""Eight supervisors race for one slot: nobody runs beside another, and nobody is forgotten."""

from __future__ import annotations

from collections import Counter

from tests.e2e.harness import Cli, until

RACERS = 8
ROUNDS = 25

# Says so if anybody else is between the two lines that create and remove the file; the shell creates it with
# O_EXCL. What is written in one go is not torn.
ALONE = """
set -C
{ : > running; } 2>/dev/null || { echo "$INTURN_JOB_ID" >> clashes; exit 1; }
set +C
echo "$INTURN_JOB_ID" >> runs
rm running
"""


def one_slot(cli: Cli) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {one: 1}}\n")


def assert_each_ran_alone(cli: Cli, jobs: list[int]) -> None:
    clashes = cli.root / "clashes"
    assert not clashes.exists(), clashes.read_text()
    holder = None
    for event in cli.run("events", "--json").check().data:
        if event["job"] in jobs and event["kind"] == "admitted":
            assert holder is None, f"job {event['job']} got the slot of job {holder}"
            holder = event["job"]
        elif event["job"] in jobs and event["kind"] in ("ended", "repeated"):
            assert holder == event["job"]
            holder = None
    assert holder is None


def test_each_racer_runs_as_often_as_it_was_asked_and_always_alone(cli: Cli) -> None:
    one_slot(cli)
    starter = cli.run("run", "-c", "until [ -e go ]; do sleep 0.01; done").id
    jobs = [
        cli.run(
            *("run", "--pool", "one", "--after-success", starter),
            *("--success-target", ROUNDS, "--max-runs", "unlimited", "-c", ALONE),
        ).id
        for _ in range(RACERS)
    ]
    (cli.root / "go").touch()
    cli.run("wait", *jobs).check()

    runs = Counter(map(int, (cli.root / "runs").read_text().split()))
    assert runs == dict.fromkeys(jobs, ROUNDS)
    for job in map(cli.show, jobs):
        assert [run["number"] for run in job["runs"]] == list(range(1, ROUNDS + 1))
        assert job["attempts"] == ROUNDS
    assert_each_ran_alone(cli, jobs)


def test_jobs_submitted_at_once_to_a_store_that_none_has_made_yet_run_once_each(cli: Cli) -> None:
    one_slot(cli)
    submitters = [cli.popen("run", "--pool", "one", "-c", ALONE) for _ in range(RACERS)]
    told = [process.communicate(timeout=60) for process in submitters]
    assert [process.returncode for process in submitters] == [0] * RACERS, told
    jobs = sorted(int(out) for out, _ in told)
    assert jobs == list(range(1, RACERS + 1))
    cli.run("wait", *jobs).check()
    assert sorted(map(int, (cli.root / "runs").read_text().split())) == jobs
    assert_each_ran_alone(cli, jobs)


def test_supervisors_leave_nothing_behind_when_their_jobs_have_ended(cli: Cli) -> None:
    one_slot(cli)
    jobs = [cli.run("run", "--pool", "one", "-c", ALONE).id for _ in range(RACERS)]
    cli.run("wait", *jobs).check()
    until(lambda: not cli.processes(), "the end of the supervisors")
    assert not list((cli.store / "owners").iterdir())

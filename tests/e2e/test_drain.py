"""When a real worker stops: drained, after one job, or because it was told to."""

from __future__ import annotations

import signal
import subprocess
from typing import Any

import pytest

from tests.e2e.harness import DEADLINE, Cli, read_proc, until
from tests.e2e.ledger import admitted, events

NOTE = "echo $INTURN_JOB_ID >>ran"


def start(cli: Cli, *options: str | int) -> subprocess.Popen[bytes]:
    """A worker in the background."""
    with open(cli.root / "worker.err", "ab") as errors:
        return cli.popen("work", *options, stdout=subprocess.DEVNULL, stderr=errors)


def drain(cli: Cli, *options: str | int) -> None:
    cli.run("work", "--drain", *options).check()


def ended(worker: subprocess.Popen[bytes]) -> None:
    assert worker.wait(timeout=DEADLINE) == 0


def hold(cli: Cli, verb: str, name: str, *options: str | int) -> int:
    """Submit a job that runs until `let_go`."""
    return cli.run(verb, *options, "-c", f"until [ -e {name}.go ]; do sleep 0.02; done").id


def let_go(cli: Cli, name: str) -> None:
    (cli.root / f"{name}.go").touch()


def ran(cli: Cli) -> list[int]:
    """The jobs that have run NOTE, in their order."""
    path = cli.root / "ran"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def runs_another(cli: Cli, *options: str | int) -> None:
    """See that a worker has not stopped: nobody but it can run this job."""
    cli.run("add", "--wait", *options, "-c", NOTE).check()


def outcomes(cli: Cli, *jobs: int) -> list[Any]:
    return [cli.show(job)["outcome"] for job in jobs]


# Drain.


def test_an_empty_queue_and_one_that_never_was_are_settled(cli: Cli) -> None:
    drain(cli)
    drain(cli, "--queue", "a", "--queue", "b")


def test_a_worker_that_has_finished_all_current_work_stops_even_if_delayed_jobs_are_scheduled(
    cli: Cli,
) -> None:
    delayed = cli.run("add", "--priority", 9, "--after", "1h", "-c", NOTE).id
    ready = [cli.run("add", "-c", NOTE).id for _ in range(3)]
    drain(cli)
    assert ran(cli) == ready
    shown = cli.show(delayed)
    assert (shown["status"], shown["attempts"]) == ("scheduled", 0)


def test_delayed_jobs_are_served_when_a_worker_is_running_at_their_time(cli: Cli) -> None:
    worker = start(cli)
    delayed = cli.run("add", "--after", "300ms", "-c", NOTE).id
    cli.run("wait", delayed).check()
    assert ran(cli) == [delayed]
    assert worker.poll() is None


def test_a_backoff_is_waited_for_until_the_retries_are_exhausted(cli: Cli) -> None:
    retried = ("--retries", 3, "--retry-delay", "150ms")
    failing = cli.run("add", *retried, "--", "false").id
    mended = cli.run("add", *retried, "-c", "[ $INTURN_ATTEMPT = 3 ]").id
    drain(cli, "-j", 2)
    assert outcomes(cli, failing, mended) == ["failure", "success"]
    assert [cli.show(job)["attempts"] for job in (failing, mended)] == [4, 3]


def test_a_slow_job_of_another_worker_in_the_queue_is_waited_for(cli: Cli) -> None:
    slow = hold(cli, "add", "slow")
    first = start(cli)
    cli.wait_phase(slow, "running")
    second = start(cli, "--drain")
    runs_another(cli)
    runs_another(cli)
    assert second.poll() is None
    let_go(cli, "slow")
    ended(second)
    assert outcomes(cli, slow) == ["success"]
    assert first.poll() is None


def test_a_slow_job_in_another_queue_is_not(cli: Cli) -> None:
    slow = hold(cli, "add", "slow", "--queue", "other")
    start(cli, "--queue", "other")
    cli.wait_phase(slow, "running")
    drain(cli)
    assert cli.phase(slow) == "running"
    let_go(cli, "slow")


def test_all_queues_of_a_worker_are_drained(cli: Cli) -> None:
    jobs = [cli.run("add", "--queue", queue, "--", "true").id for queue in ("a", "b", "c")]
    drain(cli, "--queue", "a", "--queue", "b")
    assert outcomes(cli, *jobs) == ["success", "success", None]


def test_a_dependency_on_a_supervised_job_that_runs_is_waited_for(cli: Cli) -> None:
    parent = hold(cli, "run", "parent")
    child = cli.run("add", "--after-success", parent, "-c", NOTE).id
    worker = start(cli, "--drain")
    runs_another(cli)
    runs_another(cli)
    assert (worker.poll(), cli.phase(child)) == (None, "waiting")
    let_go(cli, "parent")
    ended(worker)
    assert outcomes(cli, child) == ["success"]


def test_a_dependency_in_a_queue_that_another_worker_serves_is_waited_for(cli: Cli) -> None:
    busy = hold(cli, "add", "busy", "--queue", "far")
    parent = cli.run("add", "--queue", "far", "--", "true").id
    middle = cli.run("add", "--queue", "far", "--after-success", parent, "--", "true").id
    child = cli.run("add", "--after-success", middle, "-c", NOTE).id
    start(cli, "--queue", "far")
    cli.wait_phase(busy, "running")
    worker = start(cli, "--drain")
    runs_another(cli)
    runs_another(cli)
    assert worker.poll() is None
    let_go(cli, "busy")
    ended(worker)
    assert outcomes(cli, parent, middle, child) == ["success"] * 3


def test_a_dependency_that_fails_meanwhile_ends_what_waits_for_it_and_the_drain(cli: Cli) -> None:
    parent = cli.run("run", "-c", "until [ -e parent.go ]; do sleep 0.02; done; exit 1").id
    child = cli.run("add", "--after-success", parent, "-c", NOTE).id
    grandchild = cli.run("add", "--after-success", child, "-c", NOTE).id
    worker = start(cli, "--drain")
    runs_another(cli)
    let_go(cli, "parent")
    ended(worker)
    assert outcomes(cli, child, grandchild) == ["aborted", "aborted"]


@pytest.mark.parametrize(
    "nowhere",
    [
        ("--queue", "nobodys"),
        ("--after", "1h"),
        ("--wait-file", "never"),
        ("--wait-probe", "false"),
    ],
    ids=["in a queue that nobody serves", "delayed by its user", "waiting for a file", "waiting for a probe"],
)
def test_a_dependency_that_is_going_nowhere_is_not_waited_for(cli: Cli, nowhere: tuple[str, str]) -> None:
    parent = cli.run("add", *nowhere, "--", "true").id
    child = cli.run("add", "--after-success", parent, "-c", NOTE).id
    grandchild = cli.run("add", "--after-finish", child, "-c", NOTE).id
    drain(cli)
    assert [cli.phase(job) for job in (child, grandchild)] == ["waiting", "waiting"]


def test_a_job_held_before_its_first_run_is_not_waited_for_and_one_halted_in_its_run_is(cli: Cli) -> None:
    held = cli.run("add", "-c", NOTE).id
    cli.run("pause", held).check()
    drain(cli)
    assert cli.phase(held) == "paused"

    slow = hold(cli, "add", "slow")
    worker = start(cli, "--drain", "-j", 2)
    cli.wait_phase(slow, "running")
    cli.run("pause", slow).check()
    runs_another(cli)
    runs_another(cli)
    assert worker.poll() is None
    let_go(cli, "slow")
    cli.run("resume", slow).check()
    ended(worker)
    assert outcomes(cli, slow, held) == ["success", None]


WHAT_IS_THERE = [
    ("--wait-file", "there"),
    ("--wait-probe", "test -e there"),
    ("--wait-probe", "sleep 0.3"),
    ("--wait-delay", "1ms"),
    ("--wait-mode", "any", "--wait-file", "there", "--wait-probe", "false"),
]


@pytest.mark.parametrize("how", ["--drain", "--once"])
@pytest.mark.parametrize("wait", WHAT_IS_THERE, ids=[" ".join(each) for each in WHAT_IS_THERE])
def test_what_is_there_already_is_seen_before_a_worker_says_that_there_is_nothing_to_do(
    cli: Cli, wait: tuple[str, ...], how: str
) -> None:
    (cli.root / "there").touch()
    job = cli.run("add", *wait, "-c", NOTE).id
    cli.run("work", how).check()
    assert ran(cli) == [job]


@pytest.mark.parametrize("how", ["--drain", "--once"])
@pytest.mark.parametrize(
    "wait", [("--wait-file", "never"), ("--wait-probe", "false"), ("--wait-delay", "1h")]
)
def test_what_is_not_there_is_not_waited_for(cli: Cli, wait: tuple[str, str], how: str) -> None:
    job = cli.run("add", *wait, "-c", NOTE).id
    cli.run("work", how).check()
    shown = cli.show(job)
    assert (shown["phase"], shown["owner"]) == ("waiting", None)


# Once.


def test_once_is_one_job_however_many_places_there_are(cli: Cli) -> None:
    jobs = [cli.run("add", "--priority", priority, "-c", NOTE).id for priority in (0, 5, 1)]
    cli.run("work", "--once", "-j", 3).check()
    assert ran(cli) == [jobs[1]]
    cli.run("work", "--once").check()
    assert ran(cli) == [jobs[1], jobs[2]]


def test_once_with_nothing_to_do_ends_at_once_and_well(cli: Cli) -> None:
    cli.run("work", "--once").check()
    cli.run("add", "--after", "1h", "--", "true").check()
    cli.run("work", "--once").check()


def test_once_ends_well_whatever_its_job_did(cli: Cli) -> None:
    job = cli.run("add", "--", "false").id
    cli.run("work", "--once").check()
    assert outcomes(cli, job) == ["failure"]


# Told to stop.

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.mark.parametrize("number", SIGNALS, ids=[number.name for number in SIGNALS])
def test_told_once_it_finishes_its_jobs_and_claims_nothing_more(cli: Cli, number: signal.Signals) -> None:
    jobs = [hold(cli, "add", name) for name in ("a", "b")]
    left = cli.run("add", "-c", NOTE).id
    worker = start(cli, "-j", 2)
    for job in jobs:
        cli.wait_phase(job, "running")
    worker.send_signal(number)
    until(lambda: not accepting(cli), "the worker to accept no more")
    let_go(cli, "a")
    cli.run("wait", jobs[0]).check()
    assert (worker.poll(), cli.phase(jobs[1]), cli.phase(left)) == (None, "running", "queued")
    let_go(cli, "b")
    ended(worker)
    assert outcomes(cli, *jobs, left) == ["success", "success", None]
    assert ran(cli) == []


def accepting(cli: Cli) -> bool:
    """Whether a worker would claim something."""
    return any(one.get("accepting") for one in cli.run("workers", "--json").check().data)


def stop_twice(cli: Cli, worker: subprocess.Popen[bytes]) -> None:
    """Two signals that are sent at once may arrive as one, so the first has to have been heeded."""
    worker.terminate()
    until(lambda: not accepting(cli), "the worker to accept no more")
    worker.terminate()
    ended(worker)


def test_told_while_idle_it_ends(cli: Cli) -> None:
    worker = start(cli)
    until(lambda: accepting(cli), "the worker to serve its queue")
    worker.terminate()
    ended(worker)


def test_told_twice_it_puts_its_jobs_back_uncharged_and_another_worker_runs_them(cli: Cli) -> None:
    # Not a second run is allowed; that a worker had to stop is nothing that the job has done.
    jobs = [hold(cli, "add", "go", "--retries", 0, "--name", name) for name in ("a", "b")]
    worker = start(cli, "-j", 2)
    places = [cli.wait_phase(job, "running")["next_run_at"] for job in jobs]
    after = cli.run("add", "-c", NOTE).id
    stop_twice(cli, worker)
    for job, place in zip(jobs, places, strict=True):
        shown = cli.show(job)
        assert (shown["phase"], shown["status"], shown["owner"]) == ("queued", "queued", None)
        assert shown["next_run_at"] == place
        assert [run["outcome"] for run in shown["runs"]] == ["cancelled"]
    assert cli.run("pools", "--json").check().data["store"]["used"] == 0

    let_go(cli, "go")
    drain(cli)
    assert outcomes(cli, *jobs, after) == ["success"] * 3
    for job in jobs:
        shown = cli.show(job)
        # `attempts` counts the runs that were started, the stopped one included.
        assert shown["attempts"] == 2
        assert [(run["number"], run["outcome"]) for run in shown["runs"]] == [
            (1, "cancelled"),
            (2, "success"),
        ]
    assert admitted(cli, [*jobs, after]) == [*jobs, *jobs, after]
    reasons = [event["reason"] for event in events(cli) if event["job"] == jobs[0]]
    assert reasons == [None, None, None, "requeued", "requeued", None, None, "success"]


def test_told_twice_the_retries_of_its_jobs_are_all_left(cli: Cli) -> None:
    job = hold(cli, "add", "go", "--retries", 1)
    worker = start(cli)
    cli.wait_phase(job, "running")
    stop_twice(cli, worker)
    # From now on it fails, twice.
    cli.run("edit", job, "-c", "exit 3").check()
    drain(cli)
    shown = cli.show(job)
    assert shown["outcome"] == "failure"
    assert [run["outcome"] for run in shown["runs"]] == ["cancelled", "failure", "failure"]


def test_told_twice_it_puts_back_what_is_halted_as_well(cli: Cli) -> None:
    job = hold(cli, "add", "go")
    worker = start(cli)
    cli.wait_phase(job, "running")
    cli.run("pause", job).check()
    stop_twice(cli, worker)
    assert cli.phase(job) == "queued"
    let_go(cli, "go")
    drain(cli)
    assert outcomes(cli, job) == ["success"]


def test_told_twice_it_kills_after_the_grace_period_what_does_not_listen(cli: Cli) -> None:
    deaf = "trap '' TERM; echo >deaf; until [ -e go.go ]; do sleep 0.02; done"
    job = cli.run("add", "--stop-grace", "200ms", "-c", deaf).id
    worker = start(cli)
    until((cli.root / "deaf").exists, "the trap to be set")
    stop_twice(cli, worker)
    (run,) = cli.show(job)["runs"]
    assert (run["outcome"], run["signal"]) == ("cancelled", signal.SIGKILL)
    let_go(cli, "go")
    drain(cli)
    assert outcomes(cli, job) == ["success"]


def test_told_twice_it_leaves_alone_the_result_of_what_ends_by_itself_when_it_is_stopped(cli: Cli) -> None:
    polite = "trap 'exit 0' TERM; echo >polite; while :; do sleep 0.02; done"
    job = cli.run("add", "-c", polite).id
    worker = start(cli)
    until((cli.root / "polite").exists, "the trap to be set")
    stop_twice(cli, worker)
    # It was told to stop, and stopped: that it says 0 does not mean that its work was done.
    assert cli.phase(job) == "queued"
    cli.run("cancel", job).check()


@pytest.mark.parametrize("places", [1, 3])
def test_each_output_is_found_in_its_own_job_and_no_empty_log_is_left(cli: Cli, places: int) -> None:
    silent, loud = [], []
    for number in range(8):
        silent.append(cli.run("add", "--", "true").id)
        loud.append(cli.run("add", "-c", f"echo out {number}; echo err {number} >&2").id)
    drain(cli, "-j", places)
    assert [cli.run("logs", job, "--stdout").text for job in silent] == [""] * 8
    assert [cli.run("logs", job).text for job in silent] == [""] * 8
    for number, job in enumerate(loud):
        assert sorted(cli.run("logs", job).text.splitlines()) == [f"err {number}", f"out {number}"]
    left = [path.name for path in (cli.store / "logs").rglob("*.*") if not path.stat().st_size]
    assert left == []


def test_what_is_left_of_a_job_writes_to_no_other_jobs_log(cli: Cli) -> None:
    """It opens the log anew, which takes no lock, and closes what it had inherited."""
    late = "until [ -e go ]; do sleep 0.02; done; echo LATE; touch written"
    script = f"({late}) >/dev/stdout 2>/dev/null </dev/null &"
    left = cli.run("add", "--leave-children", "-c", script).id
    others = [cli.run("add", "-c", "true").id for _ in range(4)]
    others.append(hold(cli, "add", "last"))
    worker = start(cli, "--drain")
    cli.wait_phase(others[-1], "running")
    (cli.root / "go").touch()
    until(lambda: (cli.root / "written").exists(), "the late output")
    let_go(cli, "last")
    ended(worker)
    assert [cli.run("logs", job).text for job in others] == [""] * 5
    assert outcomes(cli, left, *others) == ["success"] * 6


def test_a_success_that_a_worker_has_not_seen_yet_is_not_repeated_when_it_is_told_twice_to_stop(
    cli: Cli,
) -> None:
    job = cli.run("add", "-c", "echo $$ >>ran; until [ -e it.go ]; do sleep 0.02; done").id
    worker = start(cli, "--drain")
    cli.wait_phase(job, "running")
    until(lambda: ran(cli), "the run")
    (pid,) = ran(cli)
    worker.send_signal(signal.SIGSTOP)
    let_go(cli, "it")
    until(lambda: read_proc(pid, "stat").rpartition(b")")[2].split()[:1] == [b"Z"], "the end of the run")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
        worker.send_signal(number)
    ended(worker)
    assert outcomes(cli, job) == ["success"]
    drain(cli)
    assert ran(cli) == [pid]

"""However a job ends, all who wait for it start or end at once, with a reason, and so on down the graph."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.conftest import start_worker
from tests.e2e.foster import Foster
from tests.e2e.harness import Cli
from tests.e2e.traces import Mark

NAP = "sleep 321"
OUTCOMES = ["success", "failure", "timed_out", "cancelled", "aborted", "lost"]

# Each line: a name, its option, whom it waits for, and the outcomes of that one with which it starts.
EVERY = set(OUTCOMES)
FAMILY = [
    ("success", "after_success", "parent", {"success"}),
    ("failed", "after_failed", "parent", {"failure"}),
    ("finish", "after_finish", "parent", EVERY),
    ("stopped", "after_outcome", "parent", {"timed_out", "cancelled"}),
    ("hopeless", "after_outcome", "parent", {"aborted", "lost"}),
    ("success of success", "after_success", "success", {"success"}),
    ("failed of success", "after_failed", "success", {"failure"}),
    ("finish of success", "after_finish", "success", EVERY),
    ("aborted of failed", "after_outcome", "failed", {"aborted"}),
    ("success of failed", "after_success", "failed", {"success"}),
    ("success of finish", "after_success", "finish", {"success"}),
    ("success of success of success", "after_success", "success of success", {"success"}),
]


def submit_family(cli: Cli, verb: str, parent: int) -> dict[str, int]:
    """Submit all who wait for `parent`, in one file; returns their ids by name."""
    lines = []
    for name, option, of, outcomes in FAMILY:
        whom = str(parent) if of == "parent" else f"@{of.replace(' ', '-')}"
        edge = f"{whom}={','.join(sorted(outcomes))}" if option == "after_outcome" else whom
        lines.append({"ref": name.replace(" ", "-"), "name": name, option: [edge], "command": ["true"]})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    ids = cli.run(verb, "--from-file", "-", input=text).ids
    return dict(zip((name for name, *_ in FAMILY), ids, strict=True))


def expected(parent: str) -> dict[str, str]:
    """The outcome of each, by the table, when the parent ends as `parent`."""
    ends = {"parent": parent}
    for name, _, of, outcomes in FAMILY:
        ends[name] = "success" if ends[of] in outcomes else "aborted"
    del ends["parent"]
    return ends


def assert_all_end(cli: Cli, family: dict[str, int], parent: int, outcome: str) -> None:
    ends = {"parent": outcome, **expected(outcome)}
    ids = {"parent": parent, **family}
    cli.run("wait", *ids.values()).check(0 if set(ends.values()) == {"success"} else 6)
    jobs = {job["id"]: job for job in cli.run("list", "--all", "--json").check().data}
    assert {name: jobs[job]["outcome"] for name, job in ids.items()} == ends
    for name, _, of, outcomes in FAMILY:
        job = jobs[ids[name]]
        (edge,) = job["dependencies"]
        assert (edge["job_id"], edge["observed_outcome"]) == (ids[of], ends[of])
        assert edge["satisfied"] is (ends[of] in outcomes)
        if edge["satisfied"]:
            assert job["started_at"] >= jobs[ids[of]]["completed_at"]
        else:
            assert (job["reason"], job["runs"]) == ("dependency_unsatisfied", [])


# How a parent is submitted that ends as it is to, once `end` is called with its id.
End = Callable[[int], None]


def parent_that_ends(cli: Cli, verb: str, outcome: str, mark: Mark) -> tuple[int, End]:
    def open_gate(_: int) -> None:
        (cli.root / "gate").touch()

    def cancel(job: int) -> None:
        cli.run("cancel", job).check()

    def lose(job: int) -> None:
        mark.await_running(NAP)
        kill_with_owner(cli.show(job)["owner"]["pid"], mark)
        if verb == "add":
            start_worker(cli)

    gate = ("--wait-file", str(cli.root / "gate"), "--wait-poll", "50ms")
    if outcome == "success":
        return cli.run(verb, *gate, "--", "true").id, open_gate
    if outcome == "failure":
        return cli.run(verb, *gate, "--", "false").id, open_gate
    if outcome == "timed_out":
        return cli.run(verb, *gate, "--run-timeout", "200ms", "-c", NAP).id, open_gate
    if outcome == "cancelled":
        return cli.run(verb, "-c", NAP).id, cancel
    if outcome == "aborted":
        grandparent = cli.run(verb, *gate, "--", "true").id
        return cli.run(verb, "--after-failed", grandparent, "--", "true").id, open_gate
    return cli.run(verb, "--max-crashes", 0, "--", *NAP.split(), env=mark.environment).id, lose


def kill_with_owner(owner: int, mark: Mark) -> None:
    """Kill a job and its owner, and bury both, so that nobody can tell how the job has ended."""
    (target,) = mark.alive()
    os.kill(owner, signal.SIGSTOP)
    mark.kill()
    os.kill(owner, signal.SIGKILL)
    for pid in (owner, target):
        os.waitpid(pid, 0)


@pytest.fixture
def foster() -> Iterator[Foster]:
    """Has all orphans come to the test."""
    foster = Foster()
    yield foster
    foster.close()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_all_who_wait_for_a_job_start_or_end_with_it(
    foster: Foster, cli: Cli, verb: str, outcome: str, mark: Mark
) -> None:
    parent, end = parent_that_ends(cli, verb, outcome, mark)
    family = submit_family(cli, verb, parent)
    assert {cli.phase(job) for job in family.values()} == {"waiting"}
    end(parent)
    assert_all_end(cli, family, parent, outcome)


@pytest.mark.parametrize("outcome", [outcome for outcome in OUTCOMES if outcome != "lost"])
def test_who_comes_when_the_job_has_ended_is_judged_at_once(
    cli: Cli, verb: str, outcome: str, mark: Mark
) -> None:
    parent, end = parent_that_ends(cli, verb, outcome, mark)
    end(parent)
    cli.run("wait", parent).check(0 if outcome == "success" else 6)
    assert_all_end(cli, submit_family(cli, verb, parent), parent, outcome)


def test_a_parent_that_could_not_be_started_has_failed(cli: Cli, verb: str) -> None:
    parent = cli.run(verb, "--", "there-is-no-such-command").id
    child = cli.run(verb, "--after-success", parent, "--", "true").id
    other = cli.run(verb, "--after-failed", parent, "--", "true").id
    cli.run("wait", child).check(6)
    cli.run("wait", other).check(0)


def test_an_attempt_that_fails_is_no_end(cli: Cli, verb: str) -> None:
    again = ("--retries", 100_000, "--retry-delay", "100ms")
    parent = cli.run(verb, *again, "-c", "[ -e gate ]").id
    children = submit_family(cli, verb, parent)
    cli.run("wait", parent, "--timeout", "500ms").check(6)
    assert {cli.phase(job) for job in children.values()} == {"waiting"}
    (cli.root / "gate").touch()
    assert_all_end(cli, children, parent, "success")


def test_one_of_several_parents_that_fails_is_enough_to_end_a_job(cli: Cli, verb: str) -> None:
    never = cli.run(verb, "--wait-file", "never", "--", "true").id
    failed = cli.run(verb, "--", "false").id
    child = cli.run(verb, "--after-success", never, "--after-success", failed, "--", "true").id
    cli.run("wait", child).check(6)
    assert cli.show(child)["reason"] == "dependency_unsatisfied"
    assert cli.phase(never) == "waiting"


def test_wait_returns_the_outcome_of_a_job_that_never_ran(cli: Cli, verb: str) -> None:
    parent = cli.run(verb, "--", "false").id
    cli.run(verb, "--wait", "--after-success", parent, "--", "true").check(6)
    assert cli.show(2)["reason"] == "dependency_unsatisfied"


def test_queued_children_end_although_no_worker_serves_their_queue(cli: Cli) -> None:
    parent = cli.run("run", "--wait-file", "gate", "--wait-poll", "50ms", "--", "false").id
    child = cli.run("add", "--queue", "nobody", "--after-success", parent, "--", "true").id
    grandchild = cli.run("add", "--queue", "nobody", "--after-success", child, "--", "true").id
    (cli.root / "gate").touch()
    cli.run("wait", child, grandchild).check(6)
    assert {cli.show(job)["reason"] for job in (child, grandchild)} == {"dependency_unsatisfied"}


def test_a_supervised_child_of_a_queued_job_and_the_reverse(cli: Cli) -> None:
    queued = cli.run("add", "--", "true").id
    supervised = cli.run("run", "--after-success", queued, "--", "true").id
    last = cli.run("add", "--after-success", supervised, "--", "true").id
    start_worker(cli)
    cli.run("wait", queued, supervised, last).check()


def test_the_reason_is_in_the_ledger_and_told_in_words(cli: Cli, verb: str) -> None:
    parent = cli.run(verb, "--name", "prepare", "--", "false").id
    cli.run(verb, "--wait", "--after-success", parent, "--", "true").check(6)
    last = cli.show(2)["events"][-1]
    assert (last["to"], last["kind"], last["reason"]) == ("completed", "aborted", "dependency_unsatisfied")
    assert "prepare" in cli.run("why", 2).check().text

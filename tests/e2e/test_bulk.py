"""Arrays and large submissions with real processes: limits, indices, dependencies, 100,000 jobs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from inturn.store.db import open_store
from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until
from tests.e2e.ledger import admitted, events, most_at_once
from tests.e2e.scene import MORTAL

MANY = 100_000

# Takes one of two places, made by nobody else; says so if there is none.
IN_TWO_PLACES = """\
for place in 1 2; do
    if mkdir place.$place 2>/dev/null; then
        sleep 0.05
        rmdir place.$place
        exit 0
    fi
done
echo >>clashes
"""


def outcome(cli: Cli, job: int) -> Any:
    return cli.show(job)["outcome"]


def hold(index: str = "$INTURN_ARRAY_INDEX") -> str:
    """A script that waits until its index may go."""
    return f"until [ -e go.{index} ]; do sleep 0.02; done"


def let_go(cli: Cli, *indices: int) -> None:
    for index in indices:
        (cli.root / f"go.{index}").touch()


def parents_of(cli: Cli, job: int) -> list[int]:
    return [edge["job_id"] for edge in cli.show(job)["dependencies"]]


# Arrays.


def test_the_index_is_in_the_arguments_and_in_the_environment(cli: Cli, verb: str) -> None:
    script = 'echo "$1 $2 $INTURN_ARRAY_INDEX" >>told'
    ids = cli.run(verb, "--array", "2,7-8", "--", "sh", "-c", script, "sh", "{}", "a{}b{}").ids
    assert ids == [ids[0], ids[0] + 1, ids[0] + 2]
    cli.run("wait", *ids).check()
    told = sorted((cli.root / "told").read_text().splitlines())
    assert told == ["2 a2b2 2", "7 a7b7 7", "8 a8b8 8"]
    for job, index in zip(ids, (2, 7, 8), strict=True):
        shown = cli.show(job)
        assert (shown["array_id"], shown["array_index"]) == (ids[0], index)


def test_no_more_of_an_array_run_at_once_than_it_lets(cli: Cli, verb: str) -> None:
    ids = cli.run(verb, "--array", "1-10%2", "-c", IN_TWO_PLACES).ids
    free = cli.run(verb, "--array", "1-3", "-c", "true").ids
    cli.run("wait", *ids, *free).check()
    assert not (cli.root / "clashes").exists()
    assert most_at_once(cli, ids) == 2
    order = admitted(cli, ids)
    assert sorted(order) == ids
    # Each supervisor brings its own job into the line; queued ones stand there from the first instant.
    assert verb == "run" or order == ids


def test_the_limit_of_an_array_holds_back_nobody_else(cli: Cli, verb: str) -> None:
    array = cli.run(verb, "--array", "1-3%1", "--priority", 9, "-c", hold()).ids
    index = dict(zip(array, (1, 2, 3), strict=True))

    def active() -> list[int]:
        return [job for job in array if cli.phase(job) == "running"]

    (first,) = until(active, "one of them to run")
    second, third = (job for job in array if job != first)
    cli.run(verb, "--wait", "--", "true").check()
    assert [cli.phase(job) for job in (first, second, third)] == ["running", "queued", "queued"]
    # One after the other, as they stand in line.
    let_go(cli, index[third], index[first])
    cli.wait_phase(second, "running")
    assert cli.phase(third) == "queued"
    let_go(cli, index[second])
    cli.run("wait", *array).check()


@pytest.mark.parametrize(("of", "on"), [("add", "run"), ("run", "add"), ("add", "add"), ("run", "run")])
def test_a_dependency_on_an_array_is_one_on_all_of_it(cli: Cli, of: str, on: str) -> None:
    start_worker(cli)
    array = cli.run(of, "--name", "parts", "--array", "1-3", "-c", hold()).ids
    whole = cli.run(on, "--after-success", "parts", "--", "true").id
    by_id = cli.run(on, "--after-success", array[0], "--", "true").id
    second = cli.run(on, "--after-success", f"{array[0]}_2", "--", "true").id
    assert [parents_of(cli, job) for job in (whole, by_id, second)] == [array, array, [array[1]]]
    let_go(cli, 1, 2)
    cli.run("wait", second).check()
    assert [cli.phase(job) for job in (whole, by_id)] == ["waiting", "waiting"]
    let_go(cli, 3)
    cli.run("wait", whole, by_id).check()


@pytest.mark.parametrize(("of", "on"), [("add", "run"), ("run", "add"), ("add", "add")])
def test_with_each_a_dependency_goes_index_by_index(cli: Cli, of: str, on: str) -> None:
    start_worker(cli)
    script = f"{hold()}; [ $INTURN_ARRAY_INDEX != 2 ]"
    first = cli.run(of, "--array", "1-3", "-c", script).ids
    second = cli.run(on, "--array", "3,1,2", "--each", "--after-success", first[0], "--", "true").ids
    assert [parents_of(cli, job) for job in second] == [[first[2]], [first[0]], [first[1]]]
    let_go(cli, 3)
    cli.run("wait", second[0]).check()
    assert [cli.phase(job) for job in second[1:]] == ["waiting", "waiting"]
    let_go(cli, 1, 2)
    cli.run("wait", *second).check(6)
    assert [outcome(cli, job) for job in second] == ["success", "success", "aborted"]


def test_an_index_that_the_other_array_does_not_have_is_refused(cli: Cli) -> None:
    first = cli.run("add", "--array", "1-3", "--", "true").ids[0]
    single = cli.run("add", "--", "true").id
    for verb in ("add", "run"):
        for parent, array in ((first, "1-4"), (single, "1-2"), (999, "1-2")):
            words = ("--each", "--array", array, "--after-success", parent)
            cli.run(verb, *words, "--", "true").check(3)
    assert len(cli.run("list", "--json").data) == 4
    assert not list((cli.store / "owners").iterdir())


def test_a_file_may_hold_arrays_that_wait_for_each_other(cli: Cli) -> None:
    each = {"array": "1-2", "each": True}
    lines = [
        {"c": "echo last >>order", "after_success": ["@second"]},
        {"c": "echo second >>order", "after_success": ["@first"], "ref": "second", **each},
        {"c": "echo first >>order", "ref": "first", "array": "2,1%1"},
    ]
    ids = cli.run("add", "--from-file", "-", input="\n".join(map(json.dumps, lines))).ids
    assert [parents_of(cli, job) for job in ids] == [ids[1:3], [ids[4]], [ids[3]], [], []]
    cli.run("work", "--drain", "-j", 4).check()
    order = (cli.root / "order").read_text().split()
    assert (order[0], order[-1], Counter(order)) == ("first", "last", {"first": 2, "second": 2, "last": 1})


def test_more_dependencies_than_one_submission_may_make_are_refused(cli: Cli) -> None:
    first = cli.run("add", "--array", "1-501", "--", "true").ids[0]
    told = cli.run("add", "--array", "1-500", "--after-success", first, "--", "true").check(2)
    assert b"--each" in told.err
    cli.run("add", "--each", "--array", "1-500", "--after-success", first, "--", "true").check()
    assert cli.run("status", "--json").data["waiting"] == 500


# Very many.


@pytest.fixture
def big(cli: Cli) -> str:
    """A store beside that of the fixture, whose jobs nobody runs or cancels."""
    return str(cli.root / "big")


def totals(cli: Cli, big: str) -> dict[str, Any]:
    found: dict[str, Any] = cli.run("--dir", big, "status", "--json").check().data
    return found


def test_a_hundred_thousand_jobs_come_from_a_file_at_once_or_not_at_all(cli: Cli, big: str) -> None:
    one = cli.run("--dir", big, "add", "--", "true").id
    lines = [json.dumps({"command": ["true", str(number)]}) for number in range(MANY)]
    (cli.root / "jobs").write_text("\n".join(lines))
    words = ("--dir", big, "add", "--from-file", "jobs")
    # All is written, and nothing is committed.
    orders = {"role": "command", "point": "enqueue.commit", "mark": str(cli.root / "died"), "skip": 0}
    killed = subprocess.run(
        [sys.executable, MORTAL, json.dumps(orders), *words],
        stdin=subprocess.DEVNULL,
        env=cli.environment(),
        cwd=cli.root,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert totals(cli, big)["queued"] == 1

    with open(cli.root / "ids", "wb") as out:
        adding = cli.popen(*words, stdout=out)
    onlooker = open_store(big, lambda _: None, create=False)
    seen: set[int] = set()

    def is_over() -> bool:
        over = adding.poll() is not None
        seen.add(onlooker.row("SELECT count(*) FROM jobs")[0])
        return over

    until(is_over, "the end of the submission", deadline=240)
    onlooker.close()
    assert adding.returncode == 0
    assert {1 + MANY} <= seen <= {1, 1 + MANY}
    assert totals(cli, big)["queued"] == 1 + MANY
    assert (cli.root / "ids").read_text().split() == list(map(str, range(one + 1, one + 1 + MANY)))

    (newest, *_) = cli.run("--dir", big, "list", "--json", "--limit", 3).check().data
    assert (newest["id"], newest["argv"]) == (1 + MANY, ["true", str(MANY - 1)])
    assert "no_worker" in cli.run("--dir", big, "why", one + 7).check().text


def test_a_hundred_thousand_jobs_of_an_array_are_one_submission(cli: Cli, big: str) -> None:
    ids = cli.run("--dir", big, "add", "--array", f"1-{MANY}%8", "--", "echo", "{}").ids
    assert ids == list(range(1, 1 + MANY))
    assert totals(cli, big)["queued"] == MANY
    last = cli.run("--dir", big, "show", MANY, "--json").check().data
    assert (last["argv"], last["array_id"], last["array_index"]) == (["echo", str(MANY)], 1, MANY)


def test_those_who_wait_for_a_job_that_has_ended_already_are_settled_however_many(cli: Cli) -> None:
    good = cli.run("run", "--wait", "--", "true").id
    cli.run("run", "--wait", "--", "false").check(1)
    bad = good + 1
    waiting = cli.run("add", "--array", "1-1200", "--after-success", good, "--", "true").ids
    doomed = cli.run("add", "--array", "1-1200", "--after-success", bad, "--", "true").ids
    # What one transaction does not settle is settled by the next worker, and before it says that it is done.
    cli.run("work", "--queue", "other", "--drain").check()
    found = Counter(job["status"] for job in cli.run("list", "--all", "--json").data)
    assert found == {"success": 1, "failure": 1, "queued": len(waiting), "aborted": len(doomed)}
    assert len({event["job"] for event in events(cli) if event["to"] == "completed"}) == 2 + len(doomed)

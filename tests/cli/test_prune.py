"""Removing what has ended: never what is needed, and whole when it goes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import partial

import pytest

from inturn.app import open_context
from inturn.store.db import Store
from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until
from tests.e2e.orphans import PATIENT

HOUR = 3600 * 1_000_000


@pytest.fixture
def store(cli: Cli) -> Iterator[Store]:
    """A connection of the test's own."""
    cli.run("add", "--", "true").check()
    cli.run("cancel", 1).check()
    opened = open_context(str(cli.store), str(cli.config), False, lambda _: None).store
    assert opened is not None
    yield opened
    opened.close()


def ended(cli: Cli, *options: str | int, command: str = "echo out; echo err >&2") -> int:
    """A job that has ended."""
    job = cli.run("run", *options, "-c", command).id
    cli.run("wait", job, "--quiet")
    return job


def pruned(cli: Cli, *options: str | int) -> list[int]:
    """The jobs that were removed, the oldest first."""
    return sorted(cli.run("prune", "--force", "--json", *options).check().data["jobs"])


def left(cli: Cli) -> list[int]:
    """The jobs that there are, the oldest first."""
    return sorted(job["id"] for job in cli.run("list", "--all", "--json").check().data)


def give_ids_up_to(store: Store, last: int) -> None:
    """As if jobs had come and been removed again: this was the last id."""
    with store.writing():
        store.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'jobs'", (last,))


def directories(cli: Cli) -> list[str]:
    """The directories of logs that there are."""
    return sorted(os.listdir(cli.store / "logs"))


def test_without_force_it_is_only_shown_what_would_go(cli: Cli) -> None:
    job = ended(cli)
    told = cli.run("prune").check()
    assert (told.text, told.err) == (f"{job}\n", b"inturn: nothing was removed; add --force\n")
    told = cli.run("prune", "--json").check()
    assert (told.data["removed"], told.data["jobs"], told.err) == (False, [job], b"")
    assert left(cli) == [job]
    assert cli.run("logs", job).check().out == b"out\nerr\n"


def test_nothing_at_all_is_left_of_a_job_that_is_removed(cli: Cli, store: Store) -> None:
    job = ended(cli, "--name", "x", "--tag", "a=b", "--key", "k", "--retries", 1, command="echo out; exit 1")
    assert os.listdir(cli.store / "logs" / "0")
    assert pruned(cli) == [1, job]
    for table in ("jobs", "specs", "runs", "events", "tags", "keys", "environments", "conditions", "edges"):
        assert store.row(f"SELECT count(*) FROM {table}") == (0,), table
    assert store.row("SELECT coalesce(sum(jobs), 0) FROM tallies") == (0,)
    assert os.listdir(cli.store / "logs" / "0") == []
    assert cli.run("show", job).code == 3
    assert cli.run("doctor").check()
    assert ended(cli) == job + 1


def test_what_is_live_stays(cli: Cli) -> None:
    live = [
        cli.run("run", "-c", PATIENT).id,
        cli.run("add", "--", "true").id,
        cli.run("run", "--after", "1h", "--", "true").id,
        cli.run("run", "--wait-file", "there", "--", "true").id,
    ]
    done = ended(cli)
    assert pruned(cli) == [done]
    assert left(cli) == live
    (cli.root / "go").touch()
    cli.run("cancel", *live[1:]).check()
    cli.run("wait", *live, "--quiet")


def test_a_job_stays_as_long_as_a_live_job_depends_on_it(cli: Cli) -> None:
    parent = ended(cli)
    child = cli.run("run", "--after-success", parent, "--wait-file", "there", "--", "true").id
    until(lambda: cli.show(child)["dependencies"][0]["observed_outcome"], "the receipt")
    told = cli.run("prune", "--force").check()
    assert told.text == ""
    assert b"other jobs depend on them" in told.err
    (cli.root / "there").touch()
    cli.run("wait", child).check()
    assert cli.run("prune", "--json").check().data["jobs"] == [child, parent]


def test_what_a_dependent_has_been_judged_by_may_go_and_the_dependent_stays(cli: Cli) -> None:
    parent = ended(cli)
    child = cli.run("run", "--wait", "--after-success", parent, "--", "true").id
    assert pruned(cli, "--keep", 1) == [parent]
    assert cli.show(child)["outcome"] == "success"
    assert cli.show(child)["dependencies"] == []


def test_what_another_round_of_a_dependent_would_have_to_judge_stays(cli: Cli) -> None:
    parent = ended(cli, command="exit 1")
    aborted = cli.run("add", "--after-success", parent, "--", "true").id
    unjudged = cli.run("run", "--after", "1h", "-c", PATIENT).id
    cancelled = cli.run("add", "--after-success", unjudged, "--", "true").id
    cli.run("cancel", cancelled).check()
    cli.run("cancel", unjudged).check()
    assert cli.show(aborted)["reason"] == "dependency_unsatisfied"
    assert pruned(cli, "--status", "failure") == []
    assert pruned(cli, "--status", "cancelled", "--keep", 1) == []
    assert left(cli) == [parent, aborted, unjudged, cancelled]
    assert pruned(cli) == [parent, aborted, unjudged, cancelled]


def test_an_array_goes_as_a_whole_or_not_at_all(cli: Cli) -> None:
    array = cli.run("add", "--array", "1-4%2", "-c", "test {} != 3 || exit 3").ids
    cli.run("work", "--drain").check()
    assert pruned(cli, "--keep", 1) == []
    assert pruned(cli, "--status", "success") == []
    live = cli.run("add", "--array", "1-2", "--", "true").ids
    cli.run("cancel", live[0]).check()
    told = cli.run("prune", "--force", "--json").check()
    assert sorted(told.data["jobs"]) == array
    assert told.data["kept"]["arrays"] == 1
    assert left(cli) == live
    cli.run("cancel", live[1]).check()
    assert pruned(cli) == live


def test_only_what_ended_long_enough_ago_goes(cli: Cli, store: Store) -> None:
    old, new = ended(cli), ended(cli)
    with store.writing():
        store.execute("UPDATE jobs SET completed_at = completed_at - ? WHERE id <= ?", (2 * HOUR, old))
    assert pruned(cli, "--older-than", "3h") == []
    assert pruned(cli, "--older-than", "1h") == [1, old]
    assert left(cli) == [new]


def test_the_newest_are_kept(cli: Cli) -> None:
    jobs = [ended(cli) for _ in range(4)]
    assert pruned(cli, "--keep", 10) == []
    assert pruned(cli, "--keep", 2) == jobs[:2]
    assert pruned(cli, "--keep", 0) == jobs[2:]


def test_only_what_ended_in_a_certain_way_goes(cli: Cli) -> None:
    well, badly = ended(cli), ended(cli, command="exit 3")
    assert pruned(cli, "--status", "success") == [well]
    assert pruned(cli, "--status", "lost", "--status", "unsuccessful") == [badly]


@pytest.mark.parametrize(
    "options", [("--status", "running"), ("--status", "no"), ("--keep", "-1"), ("--older-than", "soon")]
)
def test_nonsense_is_refused(cli: Cli, options: tuple[str, ...]) -> None:
    ended(cli)
    assert cli.run("prune", "--force", "--json", *options).check(2).json["error"]["code"] == "invalid_value"
    assert left(cli) == [1]


def test_where_there_is_no_store_there_is_nothing_to_remove(cli: Cli) -> None:
    assert cli.run("prune", "--force", "--json").check().data["jobs"] == []
    assert not cli.store.exists()


def test_a_job_that_left_a_process_on_purpose_stays_until_that_has_ended(cli: Cli) -> None:
    job = cli.run("run", "--leave-children", "-c", "(until [ -e go ]; do sleep 0.02; done) & exit 0").id
    cli.run("wait", job).check()
    told = cli.run("prune", "--force", "--json").check().data
    assert (told["jobs"], told["kept"]["alive"]) == ([], 1)
    (cli.root / "go").touch()
    until(lambda: pruned(cli) == [job], "the end of what it had left")


def test_a_log_that_is_being_read_is_read_to_its_end(cli: Cli) -> None:
    size = 5_000_000
    job = ended(cli, command=f"head -c {size} /dev/zero")
    reader = cli.popen("logs", job)
    assert reader.stdout is not None
    first = reader.stdout.read(1)  # it has begun, and the pipe is full
    assert pruned(cli) == [job]
    assert len(first + reader.stdout.read()) == size
    assert reader.wait(timeout=60) == 0


def test_many_jobs_go_in_many_short_transactions(cli: Cli, store: Store) -> None:
    cli.run("add", "--array", "1-1000", "--", "true").check()
    cli.run("cancel", "--queue", "default", "--yes").check()
    jobs = [job["id"] for job in cli.run("list", "--all", "--json").check().data]
    process = cli.popen("prune", "--force", "--json", stdout=subprocess.DEVNULL)
    seen = set()
    while process.poll() is None:
        with store.writing():
            seen.add(store.row("SELECT count(*) FROM jobs")[0])
    assert process.wait() == 0
    assert len(jobs) == 1001
    assert left(cli) == []
    # Others came in between, and found some of them gone and others not.
    assert seen - {0, 1001}


def test_a_submission_that_races_with_the_removal_of_its_parent_sees_it_or_is_told_there_is_none(
    cli: Cli, store: Store
) -> None:
    parents = [ended(cli, command=":") for _ in range(4)]
    # Nobody serves them yet: a dependent that had ended would not keep its parent.
    adders = [cli.popen("add", "--after-success", parent, "--", "true") for parent in parents]
    cli.run("prune", "--force").check()
    for parent, adder in zip(parents, adders, strict=True):
        code = adder.wait(timeout=60)
        assert code in (0, 3), adder.stderr and adder.stderr.read()
        exists = cli.run("show", parent).code == 0
        assert exists or code == 3
    assert store.execute("PRAGMA foreign_key_check").fetchall() == []
    assert cli.run("doctor", "--json").check().data["problems"] == 0
    start_worker(cli)
    until(lambda: all(cli.phase(job) == "completed" for job in left(cli)), "the dependents")


# --- the directories of logs


def test_a_directory_of_logs_goes_with_the_last_of_its_jobs(cli: Cli, store: Store) -> None:
    old = [ended(cli, command="echo out; exit 1"), ended(cli)]
    give_ids_up_to(store, 999)
    new = ended(cli)
    assert pruned(cli, "--status", "failure") == old[:1]
    assert directories(cli) == ["0", "1"]
    assert cli.run("prune", "--keep", 1).check().ids
    assert directories(cli) == ["0", "1"]
    assert pruned(cli, "--keep", 1) == [1, old[1]]
    assert directories(cli) == ["1"]
    assert cli.run("logs", new).check().out == b"out\nerr\n"


def test_the_newest_directory_of_logs_stays_until_another_one_has_come(cli: Cli, store: Store) -> None:
    job = ended(cli)
    assert pruned(cli) == [1, job]
    give_ids_up_to(store, 1999)
    assert pruned(cli) == []
    assert directories(cli) == ["0"]
    new = ended(cli)
    assert directories(cli) == ["0", "2"]
    # Nothing is removed now; what was not yet over at the last time is.
    assert pruned(cli, "--status", "lost") == []
    assert directories(cli) == ["2"]
    assert pruned(cli) == [new]
    assert directories(cli) == ["2"]


def test_the_directory_of_a_job_that_has_not_run_yet_stays_however_old_it_is(cli: Cli, store: Store) -> None:
    done = ended(cli)
    waiting = cli.run("run", "--wait-file", "there", "-c", "echo out").id
    give_ids_up_to(store, 4999)
    new = ended(cli)
    assert pruned(cli) == [1, done, new]
    assert directories(cli) == ["0", "5"]
    (cli.root / "there").touch()
    cli.run("wait", waiting).check()
    assert cli.run("logs", waiting).check().out == b"out\n"


def test_a_directory_of_logs_with_something_foreign_in_it_stays(cli: Cli, store: Store) -> None:
    job = ended(cli)
    notes = cli.store / "logs" / "0" / "notes"
    notes.write_text("mine")
    give_ids_up_to(store, 999)
    ended(cli)
    assert pruned(cli, "--keep", 1) == [1, job]
    assert (directories(cli), notes.read_text()) == (["0", "1"], "mine")
    notes.unlink()
    assert pruned(cli, "--keep", 1) == []
    assert directories(cli) == ["1"]


def test_what_runs_in_the_newest_directory_of_logs_is_not_disturbed(cli: Cli, store: Store) -> None:
    old = ended(cli)
    give_ids_up_to(store, 999)
    live = cli.run("run", "-c", "echo before; until [ -e go ]; do sleep 0.02; done; echo after").id
    cli.wait_phase(live, "running")
    assert pruned(cli) == [1, old]
    assert directories(cli) == ["1"]
    (cli.root / "go").touch()
    cli.run("wait", live).check()
    assert cli.run("logs", live).check().out == b"before\nafter\n"


def test_runs_that_begin_while_directories_of_logs_are_removed_find_theirs(cli: Cli, store: Store) -> None:

    def has_run(job: int) -> bool:
        return (cli.root / f"ran-{job}").exists()

    def all_gone() -> bool:
        pruned(cli)
        return not left(cli)

    start_worker(cli)
    for last in (997, 1997, 2997):
        give_ids_up_to(store, last)
        jobs = cli.run("add", "--array", "1-6", "-c", "echo out; touch ran-$INTURN_JOB_ID").ids
        pruners = [cli.popen("prune", "--force") for _ in range(2)]
        for job in jobs:
            # One whose log could not be opened would not have run its command.
            until(partial(has_run, job), f"the run of job {job}")
        assert [one.wait(timeout=60) for one in pruners] == [0, 0]
    until(all_gone, "the end of the last ones")
    assert directories(cli) == ["3"]

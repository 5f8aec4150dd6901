"""Jobs that are done again, by whichever kind of owner."""

from __future__ import annotations

from tests.e2e.conftest import start_worker
from tests.e2e.harness import Cli, until

# Fails until there is a file.
NEEDS_INPUT = "test -e input"


def outcomes(cli: Cli, *jobs: int) -> list[str | None]:
    return [cli.show(job)["outcome"] for job in jobs]


def test_the_shards_of_a_failed_preparation_run_when_it_is_retried_with_them(cli: Cli, verb: str) -> None:
    prepare = cli.run(verb, "--name", "prepare", "-c", NEEDS_INPUT).id
    shards = [
        cli.run(verb, "--after-success", "prepare", "-c", f"echo {n} >> shards").id for n in range(1, 5)
    ]
    report = cli.run(verb, *(f"--after-success={shard}" for shard in shards), "-c", "wc -l < shards").id
    cli.run("wait", prepare, *shards, report).check(6)
    assert outcomes(cli, prepare, *shards, report) == ["failure", *["aborted"] * 5]
    (cli.root / "input").touch()
    told = cli.run("retry", "prepare", "--with-dependents").check().text
    assert told == "".join(f"{job}\tretried\n" for job in (prepare, *shards, report))
    cli.run("wait", prepare, *shards, report).check()
    assert cli.run("logs", report).text.strip() == "4"
    shown = cli.show(shards[0])
    assert (shown["round"], shown["attempts"], len(shown["runs"])) == (2, 1, 1)
    assert shown["dependencies"][0]["observed_outcome"] == "success"
    assert [run["attempt"] for run in cli.show(prepare)["runs"]] == [1, 1]


def test_without_them_they_stay_aborted(cli: Cli, verb: str) -> None:
    prepare = cli.run(verb, "-c", NEEDS_INPUT).id
    shard = cli.run(verb, "--after-success", prepare, "--", "true").id
    cli.run("wait", shard).check(6)
    (cli.root / "input").touch()
    cli.run("retry", prepare).check()
    cli.run("wait", prepare).check()
    assert outcomes(cli, prepare, shard) == ["success", "aborted"]


def test_a_revived_job_has_a_supervisor_at_once_and_a_fresh_budget(cli: Cli) -> None:
    job = cli.run("run", "--retries", 1, "-c", "echo run; exit 1").id
    cli.run("wait", job).check(6)
    cli.run("retry", job, "--json").check()
    shown = cli.show(job)
    # It may have ended again already, but while it has not, it is never without an owner.
    assert shown["phase"] == "completed" or shown["owner"]["life"] == "alive"
    cli.run("wait", job).check(6)
    shown = cli.show(job)
    assert [(run["number"], run["round"]) for run in shown["runs"]] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert cli.run("logs", job, "--run", "all").text == "run\n" * 4


def test_a_success_may_be_retried_and_what_is_live_may_not(cli: Cli, verb: str) -> None:
    done = cli.run(verb, "--wait", "--", "true")
    done.check()
    live = cli.run(verb, "--wait-file", "never", "--", "true").id
    answer = cli.run("retry", done.id, live, "--json").check(6)
    assert [(one["id"], one["result"], bool(one["problem"])) for one in answer.data] == [
        (done.id, "retried", False),
        (live, "unchanged", True),
    ]
    refused = cli.run("retry", live, "--json").check(5)
    assert refused.json["error"]["code"] == "conflict"
    cli.run("wait", done.id).check()
    assert cli.show(done.id)["round"] == 2


def test_a_filter_picks_what_did_not_succeed_and_wants_a_yes(cli: Cli) -> None:
    good = cli.run("run", "--wait", "--tag", "k", "--", "true").id
    bad = [cli.run("run", "--tag", "k", "-c", NEEDS_INPUT).id for _ in range(2)]
    cli.run("wait", *bad).check(6)
    (cli.root / "input").touch()
    cli.run("retry", "--tag", "k").check(2)
    assert outcomes(cli, *bad) == ["failure", "failure"]
    cli.run("retry", "--tag", "k", "--yes").check()
    cli.run("wait", *bad).check()
    assert [cli.show(job)["round"] for job in (good, *bad)] == [1, 2, 2]
    cli.run("retry", "--tag", "k").check(3)


def test_very_many_supervised_jobs_are_revived_at_once(cli: Cli) -> None:
    jobs = cli.run("run", "--array", "1-40", "-c", NEEDS_INPUT).ids
    cli.run("wait", *jobs).check(6)
    (cli.root / "input").touch()
    cli.run("retry", *jobs).check()
    cli.run("wait", *jobs).check()


# --- rerun


def test_a_new_job_is_like_the_old_one(cli: Cli, verb: str) -> None:
    old = cli.run(
        verb, "--name", "n", "--tag", "k=v", "--priority", 3, "-c", 'echo "$MARK"', env={"MARK": "x"}
    )
    cli.run("wait", old.id).check()
    new = cli.run("rerun", "n", env={"MARK": "y"}).id
    cli.run("wait", new).check()
    assert new == old.id + 1
    assert cli.run("logs", new).text == "x\n"
    before, after = cli.show(old.id), cli.show(new)
    for key in ("name", "tags", "priority", "queue", "argv", "spec"):
        assert after[key] == before[key]
    assert after["round"] == 1


def test_both_kinds_can_be_submitted_again_together(cli: Cli) -> None:
    queued = cli.run("add", "-c", "echo queued").id
    supervised = cli.run("run", "--wait", "-c", "echo supervised").id
    start_worker(cli)
    answer = cli.run("rerun", supervised, queued, supervised, "--json").check()
    assert [one["rerun_of"] for one in answer.data] == [supervised, queued]
    new = [one["id"] for one in answer.data]
    cli.run("wait", *new).check()
    assert [cli.run("logs", job).text for job in new] == ["supervised\n", "queued\n"]
    assert [cli.show(job)["queue"] for job in new] == [None, "default"]


def test_it_waits_for_its_gates_only_if_they_are_meant(cli: Cli, verb: str) -> None:
    parent = cli.run(verb, "--wait-file", "there", "--", "true").id
    child = cli.run(verb, "--after-success", parent, "--", "true").id
    free = cli.run("rerun", child).id
    cli.run("wait", free).check()
    bound = cli.run("rerun", child, "--with-gates").id
    assert [one["job_id"] for one in cli.show(bound)["dependencies"]] == [parent]
    assert cli.phase(bound) == "waiting"
    (cli.root / "there").touch()
    cli.run("wait", child, bound).check()


def test_nothing_is_submitted_again_if_one_cannot_be(cli: Cli) -> None:
    cli.configure("schema_version: 1\nconcurrency: {pools: {p: 2}}\n")
    pooled = cli.run("run", "--wait", "--pool", "p", "--slots", 2, "--", "true").id
    plain = cli.run("run", "--wait", "--", "true").id
    cli.configure("schema_version: 1\nconcurrency: {pools: {p: 1}}\n")
    assert cli.run("rerun", plain, pooled, "--json").check(2).json["error"]["code"] == "impossible"
    assert len(cli.run("list", "--all", "--json").data) == 2
    cli.run("rerun", 99).check(3)
    until(lambda: not cli.processes(), "the end of the supervisors that were not needed")

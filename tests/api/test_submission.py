from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import inturn
from tests.e2e.harness import Cli


def test_a_supervised_job_runs_and_its_result_tells_how(store: inturn.Store) -> None:
    result = store.run(["sh", "-c", "exit 3"], name="three").wait()
    assert (result.name, result.outcome, result.exit_code, result.exit_status) == ("three", "failure", 3, 3)
    (run,) = result.runs
    assert (run.number, run.exit_code, run.outcome) == (1, 3, "failure")
    assert run.started_at is not None
    assert run.finished_at is not None
    assert result.submitted_at <= run.started_at <= run.finished_at == result.completed_at
    assert not result.ok
    with pytest.raises(inturn.InturnError, match="exit code 3") as caught:
        result.check()
    assert caught.value.code == "incomplete"


def test_it_runs_in_the_surroundings_of_this_process(
    store: inturn.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARK", "here")
    (tmp_path / "place").mkdir()
    monkeypatch.chdir(tmp_path / "place")
    before = os.umask(0o027)
    try:
        job = store.run(c="pwd; umask; echo $MARK $OTHER", env={"OTHER": "there"})
    finally:
        os.umask(before)
    job.wait().check()
    assert job.logs().decode().splitlines() == [str(tmp_path / "place"), "0027", "here there"]


def test_options_mean_what_they_mean_to_the_command_line(store: inturn.Store, home: Cli) -> None:
    job = store.add(
        ["true"],
        queue="gpu",
        priority=5,
        after=timedelta(hours=1),
        retries=2,
        retryable_exit_code=[1, "64-78"],
        run_timeout="5m",
        tag={"project": "x"},
        merge_output=True,
    )
    by_hand = home.run(
        *("add", "--queue", "gpu", "--priority", 5, "--after", "1h", "--retries", 2, "--merge-output"),
        *("--retryable-exit-code", 1, "--retryable-exit-code", "64-78", "--run-timeout", "5m"),
        *("--tag", "project=x", "--", "true"),
    ).id
    mine, theirs = home.show(job.id), home.show(by_hand)
    for key in ("queue", "priority", "tags", "status", "argv"):
        assert mine[key] == theirs[key]
    mine["spec"].pop("environment", None)
    theirs["spec"].pop("environment", None)
    assert mine["spec"] == theirs["spec"] | {"umask": mine["spec"]["umask"]}
    assert (job.status, job.details()["priority"]) == ("scheduled", 5)


def test_the_configuration_file_applies(store: inturn.Store, home: Cli) -> None:
    home.configure("schema_version: 1\nconcurrency: {pools: {narrow: 1}}\ndefaults: {priority: 3}\n")
    job = store.add(["true"], pool="narrow")
    assert job.details()["priority"] == 3
    assert job.details()["pool"] == "narrow"


def test_dependencies_are_handles_ids_and_names(store: inturn.Store) -> None:
    first = store.run(["true"], name="first")
    after = store.run(["true"], after_success=[first, first.id, "first"], after_finish="first@latest")
    failed = store.run(["false"])
    either = store.run(["true"], after_outcome={failed: ["failure", "lost"], first: "success"})
    assert all(result.ok for result in inturn.wait([after, either]))
    assert [edge["job_id"] for edge in either.details()["dependencies"]] == [first.id, failed.id]


def test_an_array_stands_for_all_of_its_jobs_and_a_handle_for_one(store: inturn.Store) -> None:
    shards = store.run_array(range(1, 4), ["sh", "-c", "echo {}; exit $(({} == 2))"])
    everyone = store.run(["true"], after_finish=shards)
    one = store.run(["true"], after_success=shards[0])
    alike = store.run_array("1-3", ["true"], after_success=shards, each=True)
    assert [len(job.details()["dependencies"]) for job in (everyone, one, alike[1])] == [3, 1, 1]
    assert [result.outcome for result in alike.wait()] == ["success", "aborted", "success"]
    assert [shard.logs() for shard in shards] == [b"1\n", b"2\n", b"3\n"]
    assert inturn.wait([everyone, one])[1].ok


def test_many_jobs_are_submitted_together_or_not_at_all(store: inturn.Store) -> None:
    jobs = store.run_many(
        [
            {"command": ["true"], "after_success": "@first"},
            {"command": ["true"], "ref": "first"},
            {"command": ["true"], "array": "1-2", "after_success": ["@first"]},
        ]
    )
    assert [result.ok for result in inturn.wait(jobs)] == [True] * 4
    assert store.run_many([]) == []
    with pytest.raises(inturn.InturnError, match=r"^jobs\[1\]: ") as caught:
        store.add_many([{"command": ["true"]}, {"command": ["true"], "pool": "nowhere"}])
    assert caught.value.code == "unknown_pool"
    assert len(store.jobs()) == len(jobs)


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ({"command": ["x"]}, "a list of jobs is wanted"),
        ("x", "a list of jobs is wanted"),
        (None, "a list of jobs is wanted"),
        (["x"], "jobs[0]: 'x' is no job"),
        ([{"command": []}], "jobs[0]: the command is missing"),
    ],
)
def test_what_is_no_list_of_jobs_is_refused(store: inturn.Store, jobs: Any, said: str) -> None:
    for submit in (store.run_many, store.add_many):
        with pytest.raises(inturn.InturnError) as caught:
            submit(jobs)
        assert (caught.value.code, caught.value.message) == ("usage", said)
        assert '["make", "test"]' in caught.value.hint


def test_a_key_gives_the_job_that_has_it(store: inturn.Store) -> None:
    job = store.run(["sleep", "60"], key="one")
    assert store.run(["sleep", "60"], key="one") == job
    job.cancel()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"nonsense": 1}, "usage"),
        ({"queue": "gpu"}, "usage"),
        ({"slots": 0}, "invalid_value"),
        ({"name": "job@latest"}, "invalid_value"),
        ({"after": 1, "at": 2}, "usage"),
        ({"after_success": 99}, "not_found"),
        ({"merge_output": 1}, "invalid_value"),
    ],
)
def test_what_is_wrong_is_refused_with_its_code_and_nothing_is_stored(
    store: inturn.Store, options: dict[str, object], code: str
) -> None:
    with pytest.raises(inturn.InturnError) as caught:
        store.run(["true"], **options)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert store.jobs() == []


def test_a_handle_of_another_store_is_refused(store: inturn.Store, tmp_path: Path) -> None:
    stranger = inturn.open(tmp_path / "other").add(["true"])
    with pytest.raises(inturn.InturnError, match="another store") as caught:
        store.run(["true"], after_success=stranger)
    assert caught.value.code == "usage"

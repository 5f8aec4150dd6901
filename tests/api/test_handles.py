from __future__ import annotations

import multiprocessing
import pickle
import shutil
import threading
from pathlib import Path

import pytest

import inturn
from tests.e2e.harness import Cli, until


def test_a_store_is_made_by_the_first_submission(home: Cli) -> None:
    store = inturn.open()
    assert store.jobs() == []
    assert store.counts()["queued"] == 0
    with pytest.raises(inturn.InturnError) as caught:
        store.job(1)
    assert caught.value.code == "not_found"
    assert not home.store.exists()
    job = store.add(["true"])
    assert store.directory == str(home.store.resolve())
    assert store.jobs() == [job] == [store.job(job.id)]
    store.close()
    assert job.status == "queued"


def test_a_store_that_cannot_be_used_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(inturn.InturnError) as caught:
        inturn.open(tmp_path / "file")
    assert caught.value.code == "store_unusable"


def test_a_store_that_was_removed_and_made_anew_is_the_new_one(store: inturn.Store, home: Cli) -> None:
    store.add(["true"], name="old")
    shutil.rmtree(home.store)
    assert store.jobs() == []
    store.add(["true"], name="new")
    assert [job["name"] for job in home.run("list", "--json").data] == ["new"]


def test_jobs_are_found_by_what_they_have_in_common(store: inturn.Store) -> None:
    one = store.add(["true"], name="one", tag="a=1", queue="x")
    two = store.add(["true"], name="two", tag=["a=2", "b"])
    pair = store.add_array("1-2", ["true"])
    assert store.jobs(tag="a=1") == store.jobs(queue="x") == store.jobs(name="one") == [one]
    assert store.jobs(tag="a", status=["queued", "running"]) == [two, one]
    assert store.jobs(array=pair) == [pair[1], pair[0]]
    assert store.jobs(limit=1) == [pair[1]]
    assert store.job("two") == two
    assert store.counts()["queued"] == 4
    with pytest.raises(inturn.InturnError):
        store.jobs(status="nonsense")


def test_a_handle_tells_what_it_is(store: inturn.Store) -> None:
    job = store.add(["true"], name="one")
    assert repr(job) == f"<inturn.Job {job.id} 'one': queued>"
    assert repr(store.add_array("1-3", ["true"])) == "<inturn.Array 2: 3 jobs>"
    assert job.why()[0].code == "no_worker"
    assert (job.name, job.outcome, job.done(), job.runs, job.logs()) == ("one", None, False, (), b"")


def test_handles_are_equal_if_they_are_of_the_same_job_and_can_be_pickled(store: inturn.Store) -> None:
    job = store.add(["true"])
    array = store.add_array("1-2", ["true"])
    assert {job, store.job(job.id), pickle.loads(pickle.dumps(job))} == {job}
    assert pickle.loads(pickle.dumps(array)) == array
    assert array[0] != array[1]
    assert array[:1] == [array[0]]


def test_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(inturn.InturnError("conflict", "what", "how")))
    assert (error.code, error.message, error.hint) == ("conflict", "what", "how")
    assert isinstance(pickle.loads(pickle.dumps(inturn.WaitTimeout("incomplete", "m"))), TimeoutError)


def test_cancel_says_whether_there_was_anything_to_end(store: inturn.Store) -> None:
    waiting, running = store.add(["true"]), store.run(["sleep", "60"])
    until(lambda: running.status == "running", "it runs")
    assert store.cancel([waiting, running]) == [waiting, running]
    assert running.wait().outcome == waiting.wait().outcome == "cancelled"
    assert not running.cancel()
    assert store.cancel([waiting.id]) == []


def test_pause_resume_and_retry_change_a_job_or_raise_conflict(store: inturn.Store) -> None:
    job = store.add(["true"])
    job.pause()
    assert job.status == "paused"
    job.resume()
    assert job.status == "queued"
    for refused in (job.resume, job.retry):
        with pytest.raises(inturn.InturnError) as caught:
            refused()
        assert caught.value.code == "conflict"


def test_retry_gives_a_supervised_job_another_round(store: inturn.Store) -> None:
    job = store.run(["false"])
    heir = store.run(["true"], after_success=job)
    assert [result.outcome for result in inturn.wait([job, heir])] == ["failure", "aborted"]
    job.retry(with_dependents=True)
    result = job.wait()
    assert [run.number for run in result.runs] == [1, 2]
    assert heir.wait().outcome == "aborted"


def test_logs_are_of_a_stream_a_run_and_so_many_lines(store: inturn.Store) -> None:
    job = store.run(["sh", "-c", "echo $INTURN_RUN; echo err >&2; exit $((INTURN_RUN < 2))"], retries=1)
    job.wait().check()
    assert job.logs(stream="stdout") == b"2\n"
    assert job.logs(stream="stdout", run=1) == b"1\n"
    assert job.logs(stream="stdout", run="all") == b"1\n2\n"
    assert job.logs(stream="stderr", lines=1) == b"err\n"
    for wrong in ({"stream": "out"}, {"run": "some"}, {"lines": -1}, {"run": 9}):
        with pytest.raises(inturn.InturnError):
            job.logs(**wrong)


def test_output_is_followed_across_retries_to_the_end(store: inturn.Store, tmp_path: Path) -> None:
    script = 'echo $INTURN_RUN; until [ -e "$0" ]; do sleep 0.02; done; exit $((INTURN_RUN < 3))'
    go = tmp_path / "go"
    job = store.run(["sh", "-c", script, str(go)], retries=2)
    lines = job.follow()
    assert next(lines) == b"1\n"
    go.touch()
    assert list(lines) == [b"2\n", b"3\n"]


def test_who_stops_following_leaves_no_thread_behind(store: inturn.Store) -> None:
    job = store.run(["sh", "-c", "echo here; exec sleep 60"])
    lines = job.follow()
    assert next(lines) == b"here\n"
    lines.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("inturn-follow")]
    job.cancel()


def test_following_a_job_that_there_is_not_raises(store: inturn.Store) -> None:
    store.add(["true"])
    with pytest.raises(inturn.InturnError) as caught:
        list(inturn.Job(store, 99).follow())
    assert caught.value.code == "not_found"


def test_several_threads_may_use_one_store(store: inturn.Store) -> None:
    found: list[bool] = []
    jobs: list[inturn.Job] = []

    def work() -> None:
        job = store.run(["true"])
        jobs.append(job)
        found.append(job.wait().ok)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == [True] * 4
    assert len(set(jobs)) == 4


def submit_and_wait(job: inturn.Job) -> None:
    assert job.status == "queued"
    job.store.run(["true"], name="child").wait().check()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_store_may_be_used_on_both_sides_of_a_fork(store: inturn.Store) -> None:
    job = store.add(["true"])
    child = multiprocessing.get_context("fork").Process(target=submit_and_wait, args=(job,))
    child.start()
    assert store.run(["true"]).wait().ok
    child.join(120)
    assert child.exitcode == 0
    assert store.job("child").outcome == "success"

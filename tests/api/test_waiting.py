from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path
from time import monotonic

import apsw
import pytest

import inturn
from inturn.api.waiting import _Request
from inturn.core import transitions
from inturn.core.layout import DATABASE
from inturn.core.transitions import Event
from inturn.host import clock
from inturn.store import jobs, prune
from tests.e2e.harness import Cli, until
from tests.service.scene import Scene


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "inturn-wait"]


def test_results_come_in_the_order_given_arrays_spread_out(store: inturn.Store) -> None:
    array = store.run_array("0-1", ["sh", "-c", "exit {}"])
    last = store.run(["true"], after_finish=array)
    found = inturn.wait([last, array, last])
    assert [result.id for result in found] == [last.id, array[0].id, array[1].id, last.id]
    assert [result.exit_code for result in array.wait()] == [0, 1]


def test_jobs_of_several_stores_are_awaited_together(store: inturn.Store, tmp_path: Path) -> None:
    other = inturn.open(tmp_path / "other")
    jobs = [store.run(["true"]), other.run(["false"])]
    assert [result.outcome for result in inturn.wait(jobs, timeout="2m")] == ["success", "failure"]
    assert [result.ok for result in asyncio.run(inturn.finished(jobs))] == [True, False]


def test_a_job_that_takes_too_long_is_a_timeout_and_goes_on(store: inturn.Store) -> None:
    job = store.add(["true"])
    with pytest.raises(inturn.WaitTimeout, match="not ended within 50ms") as caught:
        job.wait(timeout=0.05)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.code == "incomplete"
    assert job.status == "queued"


def test_what_is_no_handle_cannot_be_awaited(store: inturn.Store) -> None:
    with pytest.raises(inturn.InturnError, match="no handle") as caught:
        inturn.wait([7])  # type: ignore[list-item]
    assert caught.value.code == "usage"


def test_coroutines_wait_together_in_one_thread_that_ends_with_them(store: inturn.Store) -> None:
    jobs = [store.add(["true"], name=f"job-{number}") for number in range(20)]
    most = 0

    async def main() -> list[inturn.Result]:
        nonlocal most
        waiting = [asyncio.create_task(job.finished()) for job in jobs]
        while len(store._watch._requests) < len(jobs):
            await asyncio.sleep(0.01)
        for job in jobs:
            await asyncio.sleep(0)
            most = max(most, len(threads()))
            job.cancel()
        return await asyncio.gather(*waiting)

    assert [result.outcome for result in asyncio.run(main())] == ["cancelled"] * 20
    assert most == 1
    until(lambda: not threads(), "the end of the thread")


def test_waiting_in_a_coroutine_can_be_cancelled_and_leaves_the_job_alone(store: inturn.Store) -> None:
    job = store.add(["true"])

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await job.finished()

    asyncio.run(main())
    until(lambda: not threads(), "the end of the thread")
    assert job.status == "queued"


def test_the_event_loop_goes_on_while_a_job_is_awaited(store: inturn.Store, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    job = store.run(["true"], wait_file=gate, wait_poll="10ms")

    async def main() -> inturn.Result:
        waiting = asyncio.create_task(job.finished())
        await asyncio.sleep(0.1)
        assert not waiting.done()
        gate.touch()
        return await waiting

    assert asyncio.run(main()).ok


def test_a_coroutine_that_awaits_what_there_is_not_harms_no_other(store: inturn.Store) -> None:
    job = store.add(["true"])

    async def main() -> inturn.Result:
        waiting = asyncio.create_task(job.finished())
        with pytest.raises(inturn.InturnError) as caught:
            await inturn.Job(store, 99).finished()
        assert caught.value.code == "not_found"
        job.cancel()
        return await waiting

    assert asyncio.run(main()).outcome == "cancelled"


async def begun(store: inturn.Store, *awaited: inturn.Job) -> list[asyncio.Task[inturn.Result]]:
    """A coroutine for each job, all of which are being waited for."""
    tasks = [asyncio.create_task(job.finished()) for job in awaited]
    while len(store._watch._requests) < len(awaited):
        await asyncio.sleep(0.01)
    return tasks


def test_a_job_that_is_pruned_is_an_error_for_those_alone_who_wait_for_it(
    home: Cli, store: inturn.Store
) -> None:
    doomed, other = store.add(["true"]), store.add(["true"])

    def end_and_prune(job_id: int) -> None:
        scene = Scene(home.store)
        now = clock.now()
        with scene.store.writing():
            event = Event("cancelled", "completed", "requested", "cancelled")
            jobs.commit(scene.store, [transitions.apply(scene.job(job_id), event, now)], now)
            assert prune.remove(scene.store, [job_id]).ids == (job_id,)
        scene.close()

    async def main() -> inturn.Result:
        for_doomed, for_other = await begun(store, doomed, other)
        end_and_prune(doomed.id)
        with pytest.raises(inturn.InturnError) as caught:
            await for_doomed
        assert caught.value.code == "not_found"
        other.cancel()
        return await for_other

    assert asyncio.run(main()).outcome == "cancelled"


def test_a_store_that_is_gone_is_an_error_for_all_who_wait_for_its_jobs(
    home: Cli, store: inturn.Store
) -> None:
    array = store.add_array("1-2", ["true"])

    async def main() -> list[str]:
        tasks = await begun(store, *array)
        shutil.rmtree(home.store)
        found = await asyncio.gather(*tasks, return_exceptions=True)
        return [one.code for one in found if isinstance(one, inturn.InturnError)]

    codes = asyncio.run(main())
    assert len(codes) == 2
    # Who comes to look for the first time finds that there is no such job.
    assert set(codes) <= {"store_unusable", "not_found"}
    until(lambda: not threads(), "the end of the thread")


def test_a_store_that_is_busy_is_looked_at_again(
    home: Cli, store: inturn.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = store.add(["true"])
    job.cancel()
    store.close()
    asked: list[float] = []

    def ask() -> float:
        asked.append(monotonic())
        return asked[-1]

    # It is asked once when a connection finds the store busy, and once more before that one gives up.
    monkeypatch.setattr("inturn.store.db.BUSY_DEADLINE", 0)
    monkeypatch.setattr("inturn.store.db.monotonic", ask)
    holder = apsw.Connection(str(home.store / DATABASE))
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")

    async def main() -> None:
        request = _Request(asyncio.get_running_loop(), [job.id])
        store._watch._add(request)
        while len(asked) < 5:
            await asyncio.sleep(0.01)
            assert not request.done.done()
        holder.close()
        await request.done

    asyncio.run(main())

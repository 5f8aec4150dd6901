"""Checked by mypy, never run: how users' code looks to a type checker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import assert_type

import inturn


def submissions(store: inturn.Store) -> None:
    job = store.run(["make", Path("x"), b"y"], name="one", cwd=Path("/tmp"), after=timedelta(seconds=1))
    assert_type(job, inturn.Job)
    assert_type(store.add(c="true", queue="gpu", at=datetime.now(UTC), priority="5"), inturn.Job)
    array = store.run_array(range(3), ["x"], after_success=[job, 7, "name"], each=True, retries=None)
    assert_type(array, inturn.Array)
    assert_type(array[0], inturn.Job)
    assert_type(array[1:], list[inturn.Job])
    assert_type(
        store.run_many([{"command": ["x"], "ref": "a", "after_outcome": {job: "lost"}}]), list[inturn.Job]
    )
    options: inturn.RunOptions = {"retries": 2, "tag": {"a": None}}
    store.add(["x"], **options)


def mistakes(store: inturn.Store) -> None:
    store.run(["true"], nonsense=1)  # type: ignore[call-arg]
    store.run(["true"], queue="gpu")  # type: ignore[call-arg]
    store.run(["true"], merge_output="yes")  # type: ignore[arg-type]
    store.add_many([{"comand": ["true"]}])  # type: ignore[typeddict-unknown-key]
    inturn.wait(7)  # type: ignore[arg-type]


def results(job: inturn.Job) -> None:
    assert_type(job.wait(timeout="1m"), inturn.Result)
    assert_type(job.wait().check().exit_code, int | None)
    assert_type(job.runs, tuple[inturn.Run, ...])
    assert_type(job.why(), tuple[inturn.Reason, ...])
    assert_type(job.follow(stream="stderr"), Iterator[bytes])
    assert_type(job.logs(run="all"), bytes)
    assert_type(inturn.wait([job, job.store.run_array("1", ["x"])]), list[inturn.Result])


async def coroutines(job: inturn.Job, array: inturn.Array) -> None:
    assert_type(await job.finished(), inturn.Result)
    assert_type(await array.finished(), list[inturn.Result])
    assert_type(await inturn.finished([job, array]), list[inturn.Result])


def errors() -> None:
    try:
        with inturn.open(Path("/tmp"), config="x") as store:
            assert_type(store, inturn.Store)
    except inturn.WaitTimeout as late:
        assert_type(late.code, str)

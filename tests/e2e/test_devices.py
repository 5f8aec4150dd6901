"""Pools with devices: who gets which, who shares one, and what all the others see."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.e2e.harness import Cli, until

POOL = "schema_version: 1\nconcurrency:\n  pools:\n    gpu: {devices: [0, 1]%s}\n"

# Tells what it sees, then stays until it is let go.
HOLD = 'echo "${CUDA_VISIBLE_DEVICES-unset}" > "seen-$INTURN_JOB_ID"; while [ ! -e go ]; do sleep 0.05; done'


def _seen(cli: Cli, job: int) -> str:
    path = cli.root / f"seen-{job}"
    until(lambda: path.exists() and path.read_text().endswith("\n"), f"what job {job} sees")
    return path.read_text().strip()


def _start(cli: Cli, *options: str | int, env: dict[str, str | None] | None = None) -> int:
    return cli.run("run", *options, "-c", HOLD, env=env).id


def _pool(cli: Cli) -> dict[str, Any]:
    (pool,) = cli.run("pools", "--json").check().data["pools"]
    assert isinstance(pool, dict)
    return pool


def test_each_job_has_devices_of_its_own_and_the_next_one_waits(cli: Cli) -> None:
    cli.configure(POOL % "")
    jobs = [_start(cli, "--pool", "gpu") for _ in range(2)]
    given = {job: _seen(cli, job) for job in jobs}
    assert sorted(given.values()) == ["0", "1"]
    assert {holder["job_id"]: holder["devices"] for holder in _pool(cli)["holders"]} == {
        job: [device] for job, device in given.items()
    }
    row = cli.run("pools").check().text.splitlines()[1].split("\t")
    assert row[-1] == ",".join(
        f"{device}:{job}" for job, device in sorted(given.items(), key=lambda it: it[1])
    )
    for job, device in given.items():
        shown = cli.show(job)
        assert shown["admission"]["devices"] == shown["runs"][0]["devices"] == [device]
    third = _start(cli, "--pool", "gpu", "--slots", 2)
    cli.wait_phase(third, "queued")
    told = cli.run("why", third).check().text
    assert "each on a device of its own" in told
    assert all(f"job {job} holds 1 slot (gpu: {device})" in told for job, device in given.items())
    (cli.root / "go").touch()
    assert _seen(cli, third) == "0,1"


def test_a_device_may_be_shared_and_is_shared_evenly(cli: Cli) -> None:
    cli.configure(POOL % ", per_device: 2")
    jobs = [_start(cli, "--pool", "gpu") for _ in range(4)]
    assert sorted(_seen(cli, job) for job in jobs) == ["0", "0", "1", "1"]
    assert _pool(cli)["free"] == 0
    row = cli.run("pools").check().text.splitlines()[1].split("\t")
    assert sorted(part.count("+") for part in row[-1].split(",")) == [1, 1]


@pytest.mark.parametrize(("others", "seen"), [("", ""), (", others: none", ""), (", others: all", "7")])
def test_a_job_outside_the_pool_sees_what_the_pool_leaves_to_others(cli: Cli, others: str, seen: str) -> None:
    cli.configure(POOL % others)
    (cli.root / "go").touch()
    assert _seen(cli, _start(cli, env={"CUDA_VISIBLE_DEVICES": "7"})) == seen


def test_what_a_job_names_itself_is_left_to_it_and_the_variable_may_have_another_name(cli: Cli) -> None:
    cli.configure(POOL % ", variable: MY_GPUS")
    (cli.root / "go").touch()
    assert os.environ.get("MY_GPUS") is None
    cli.run("run", "--wait", "--pool", "gpu", "-c", 'test "$MY_GPUS" = 0').check()
    cli.run("run", "--wait", "-c", 'test "${MY_GPUS-unset}" = ""').check()
    cli.run("run", "--wait", "--env", "MY_GPUS=5", "-c", 'test "$MY_GPUS" = 5').check()

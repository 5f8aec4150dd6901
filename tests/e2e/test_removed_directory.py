"""A directory of the store that somebody has removed: the jobs that come go on without it, and it is back."""

from __future__ import annotations

import shutil
import stat

import pytest

from tests.e2e.harness import Cli


def remove(cli: Cli, name: str) -> None:
    """Remove a directory of a store that has been in use."""
    cli.run("run", "--wait", "-c", "echo before").check()
    shutil.rmtree(cli.store / name)


@pytest.mark.parametrize("name", ["logs", "owners"])
@pytest.mark.parametrize("options", [(), ("--foreground",), ("--array", "1-3")])
def test_a_supervised_job_runs_and_its_output_is_there(cli: Cli, name: str, options: tuple[str, ...]) -> None:
    remove(cli, name)
    waiting = () if "--foreground" in options else ("--wait",)
    cli.run("run", *waiting, *options, "-c", "echo hi").check()
    assert cli.run("logs", 2).check().out == b"hi\n"
    assert stat.S_IMODE((cli.store / name).stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["logs", "owners"])
def test_a_worker_serves_its_queue(cli: Cli, name: str) -> None:
    remove(cli, name)
    job = cli.run("add", "-c", "echo hi").id
    cli.run("work", "--drain").check()
    assert cli.run("logs", job).check().out == b"hi\n"


def test_a_worker_that_was_there_before_serves_on(cli: Cli, verb: str) -> None:
    remove(cli, "logs")
    job = cli.run(verb, "--wait", "-c", "echo hi").id
    assert cli.run("logs", job).check().out == b"hi\n"


def test_recovering_finds_nothing_to_do(cli: Cli) -> None:
    remove(cli, "owners")
    cli.run("recover").check()

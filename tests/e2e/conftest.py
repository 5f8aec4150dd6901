"""Fixtures for promises that hold whoever owns the job."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.harness import Cli
from tests.e2e.traces import Mark


@pytest.fixture(params=["run", "add"])
def verb(cli: Cli, request: pytest.FixtureRequest) -> str:
    """How a job is submitted: with a supervisor of its own, or to a worker that already serves the queue."""
    kind: str = request.param
    if kind == "add":
        start_worker(cli)
    return kind


@pytest.fixture
def mark() -> Iterator[Mark]:
    """What the processes of a job are found by; whoever is left of them at the end is killed."""
    mark = Mark()
    yield mark
    mark.kill()


def start_worker(cli: Cli, *options: str | int) -> subprocess.Popen[bytes]:
    """Start a worker with places enough for any test, in the background; it lives until the test is over."""
    with open(cli.root / "worker.err", "ab") as errors:
        return cli.popen("work", "-j", 16, *options, stdout=subprocess.DEVNULL, stderr=errors)

"""Fixtures for all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.foster import become_subreaper
from tests.e2e.harness import Cli


def pytest_configure() -> None:
    """Let what tests start hear Ctrl-C, hang-up and TERM, also where they run behind `nohup` or `&`."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(autouse=True)
def nobody_comes_to_us() -> Iterator[None]:
    """Who has started runs in this very process is not to get the orphans of later tests as well."""
    yield
    become_subreaper(False)


@pytest.fixture
def cli(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cli]:
    """The command line with a store of its own, whose processes are all gone when the test is over.

    A process that survives the cancellation of every job is a fault of the product and fails the test, unless
    the test is marked `allow_leftovers` because it makes such a process itself.
    """
    bound = Cli(tmp_path)
    yield bound
    allowed = request.node.get_closest_marker("allow_leftovers") is not None
    killed = bound.end_everything(patience=1 if allowed else 20)
    if killed and not allowed:
        pytest.fail(f"these processes of the store outlived its jobs and had to be killed: {killed}")

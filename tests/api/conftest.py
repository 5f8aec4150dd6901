"""Fixtures for the Python API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import inturn
from tests.e2e.harness import Cli


@pytest.fixture
def home(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The store of `cli` is the default one of this process, which is in the directory of the test."""
    for name in ("INTURN_CONFIG", "INTURN_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("INTURN_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, cli.environment()[name])
    monkeypatch.chdir(cli.root)
    return cli


@pytest.fixture
def store(home: Cli) -> Iterator[inturn.Store]:
    """The default store."""
    with inturn.open() as store:
        yield store

"""A store in a directory of its own, and what was rung after its commits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.store.db import Store
from tests.builders import Ring, new_store


@pytest.fixture
def ring() -> Ring:
    return Ring()


@pytest.fixture
def store(tmp_path: Path, ring: Ring) -> Iterator[Store]:
    opened = new_store(tmp_path, ring)
    yield opened
    opened.close()

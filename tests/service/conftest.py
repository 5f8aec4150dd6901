"""Fixtures for tests of the use cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A new store."""
    scene = Scene(tmp_path / "store")
    yield scene
    scene.close()

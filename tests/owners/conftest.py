from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.owners.life import Life


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Life]]:
    """Make a job and accept it; whatever is left of it is ended after the test."""
    made: list[Life] = []

    def make(*args: Any, **fields: Any) -> Life:
        made.append(Life(tmp_path, *args, **fields))
        return made[-1].accept()

    yield make
    for life in made:
        life.close()

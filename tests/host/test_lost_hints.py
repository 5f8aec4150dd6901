"""The switch that loses hints: nobody is woken, and whatever else there is to a FIFO goes on as before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.host import faults, wake


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[int]:
    fd = wake.create(str(tmp_path / "fifo"))
    yield fd
    faults.disarm()
    os.close(fd)


def test_a_hint_that_is_lost_wakes_nobody_until_hints_arrive_again(tmp_path: Path, fifo: int) -> None:
    path = str(tmp_path / "fifo")
    faults.lose_hints()
    wake.ring(path)
    assert wake.wait([fifo], 0) == set()
    faults.disarm()
    wake.ring(path)
    assert wake.wait([fifo], 0) == {fifo}


def test_hints_that_others_have_sent_are_not_lost(tmp_path: Path, fifo: int) -> None:
    wake.ring(str(tmp_path / "fifo"))
    faults.lose_hints()
    assert wake.wait([fifo], 0) == {fifo}

"""Processes of inturn are killed at random, all the time: every job still ends as its policy says.

The long form is `python -m tests.chaos`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import chaos
from tests.e2e.scene import bury_children


@pytest.mark.parametrize("seed", [20260])
def test_no_job_is_lost_and_none_runs_twice_whoever_is_killed_when(tmp_path: Path, seed: int) -> None:
    print(chaos.run(tmp_path / "it", 15.0, seed))
    bury_children()

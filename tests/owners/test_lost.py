from __future__ import annotations

import pytest

from inturn.engines.base import Found
from inturn.owners.lost import resolve
from tests.builders import START, make_job, make_run, make_spec


@pytest.mark.parametrize("max_crashes", [0, 3])
def test_a_run_that_was_never_started_goes_back_to_its_place_in_line(max_crashes: int) -> None:
    job = make_job("starting")
    event = resolve(job, make_spec(max_crashes=max_crashes), make_run(job), Found("never"), START, 0.5)
    assert (event.kind, event.to) == ("withdrawn", "queued")


@pytest.mark.parametrize(("max_crashes", "to"), [(0, "completed"), (3, "queued")])
def test_after_a_reboot_a_missing_log_does_not_prove_that_nothing_was_started(
    max_crashes: int, to: str
) -> None:
    # The power may have failed before the new file had reached the disk.
    job = make_job("starting")
    found = Found("never", rebooted=True)
    event = resolve(job, make_spec(max_crashes=max_crashes), make_run(job), found, START, 0.5)
    assert (event.kind, event.to, event.reason) == ("lost", to, "rebooted")

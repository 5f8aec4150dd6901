from __future__ import annotations

from typing import Any

import pytest

from inturn.core.transitions import Event
from inturn.service.outcome import exit_status, status_of
from tests.builders import ended, make_job, make_run
from tests.service.scene import Scene

FAILED = {"outcome": "failure", "exit_code": 3}


@pytest.mark.parametrize(
    ("job_outcome", "run", "status"),
    [
        ("success", {"outcome": "success", "exit_code": 0}, 0),
        ("success", {"outcome": "success", "exit_code": 75}, 0),  # a code listed as success
        ("failure", FAILED, 3),
        ("failure", {"outcome": "failure", "signal": 9}, 137),
        ("failure", {"outcome": "start_failed", "failure": "command_not_found"}, 127),
        ("failure", {"outcome": "start_failed", "failure": "not_executable"}, 126),
        ("failure", {"outcome": "start_failed", "failure": "cwd_missing"}, 126),
        ("failure", {"outcome": "success", "exit_code": 0}, 6),  # short of its success target
        ("timed_out", {"outcome": "timed_out", "signal": 15}, 124),
        ("timed_out", FAILED, 124),  # between two attempts
        ("cancelled", {"outcome": "cancelled", "signal": 15}, 143),
        ("cancelled", {"outcome": "cancelled", "exit_code": 0}, 6),
        ("cancelled", {"outcome": "cancelled", "exit_code": 4}, 4),
        ("aborted", FAILED, 3),  # the retry would have come too late
        ("lost", {"outcome": "lost"}, 6),
    ],
)
def test_the_exit_code_is_the_commands_own_where_it_has_one(
    job_outcome: str, run: dict[str, Any], status: int
) -> None:
    job = make_job("completed", outcome=job_outcome)
    assert exit_status(job, ended(make_run(job), **run)) == status


@pytest.mark.parametrize("outcome", ["aborted", "cancelled", "timed_out", "submission_failed", "lost"])
def test_a_job_that_never_ran_has_code_6(outcome: str) -> None:
    assert exit_status(make_job("completed", outcome=outcome), None) == 6


def test_a_run_of_an_earlier_round_does_not_count() -> None:
    job = make_job("completed", outcome="cancelled", round=2)
    assert exit_status(job, ended(make_run(job), "failure", exit_code=3)) == 6


def test_the_last_run_is_looked_up(scene: Scene) -> None:
    job_id = scene.submit()
    scene.start(job_id).close()
    run = ended(scene.run(job_id, 1), "failure", exit_code=5)
    job = scene.happen(job_id, Event("ended", "completed", "failure_limit", "failure", run=run))
    assert status_of(scene.context, job) == 5

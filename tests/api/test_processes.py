"""What a process that lives on, such as that of a notebook, and its jobs are to each other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import inturn
from tests.e2e.harness import Cli, until

# Prints whether this process has any child, alive or not yet reaped.
AMONG_OURSELVES = """
import os, inturn
store = inturn.open()
store.run(["true"]).wait()
store.run_array("1-3", ["true"]).wait()
job = store.run(["false"])
job.wait()
job.retry()
job.wait()
try:
    store.run(["true"], pool="nowhere")
except inturn.InturnError as error:
    assert error.code == "unknown_pool"
try:
    print(os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT))
except ChildProcessError:
    print("none")
"""

INTERRUPTED = """
import inturn, sys
job = inturn.open().run(["sleep", "60"])
print(job.id, flush=True)
job.wait()
"""


def test_no_supervisor_is_a_child_or_a_zombie_of_the_process_that_submitted(home: Cli) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AMONG_OURSELVES], env=home.environment(), capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("none\n", "")


def test_ctrl_c_ends_the_waiting_and_not_the_job(home: Cli) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        env=home.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        job_id = int(process.stdout.readline())
        home.wait_phase(job_id, "running")
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert errors.rstrip().endswith(b"KeyboardInterrupt")
    assert home.phase(job_id) == "running"


def test_the_job_of_a_supervisor_that_was_killed_is_taken_care_of_by_who_waits(
    store: inturn.Store, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    job = store.run(["true"], wait_file=gate)
    owner = job.details()["owner"]["pid"]
    os.kill(owner, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{owner}").exists(), "the end of the supervisor")
    gate.touch()
    assert job.wait().ok

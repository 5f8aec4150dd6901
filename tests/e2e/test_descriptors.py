"""A target has its three streams open and nothing else, least of all the lock that proves its owner lives."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.harness import INTURN, Cli

# The directory that is listed is open as well, and closed when it is looked at.
PROGRAM = """
import os
for number in os.listdir("/proc/self/fd"):
    if os.path.lexists(f"/proc/self/fd/{number}"):
        print(number, os.readlink(f"/proc/self/fd/{number}"))
"""
TARGET = (sys.executable, "-I", "-S", "-c", PROGRAM)


def told(cli: Cli, job: int) -> dict[int, str]:
    """What each descriptor of a target led to."""
    lines = cli.run("logs", job).check().text.splitlines()
    return {int(number): link for number, _, link in (line.partition(" ") for line in lines)}


def submit(cli: Cli, how: str) -> list[int]:
    """Submit from a shell that has other files open, one of them on a high number."""
    script = 'exec 5>five 7<>seven 210>two-hundred-and-ten; exec "$@"'
    words = {
        "run": ["run", "--wait"],
        "array": ["run", "--array", "1-3", "--wait"],
        "add": ["add", "--wait"],
        "foreground": ["run", "--foreground"],
    }[how]
    done = subprocess.run(
        ["bash", "-c", script, "bash", INTURN, *words, "--", *TARGET],
        env=cli.environment(),
        cwd=cli.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    return [1] if how == "foreground" else [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize("how", ["run", "array", "add", "foreground"])
def test_a_target_has_three_descriptors(cli: Cli, how: str) -> None:
    if how == "add":
        script = 'exec 5>five 7<>seven; exec "$@"'
        cli.run("limit", 9).check()
        worker = subprocess.Popen(
            ["bash", "-c", script, "bash", INTURN, "work"], env=cli.environment(), cwd=cli.root
        )
    try:
        for job in submit(cli, how):
            found = told(cli, job)
            logs = f"{cli.store}/logs/0/{job}.1"
            assert found == {0: "/dev/null", 1: f"{logs}.out", 2: f"{logs}.err"}
    finally:
        if how == "add":
            worker.terminate()
            worker.wait(timeout=60)

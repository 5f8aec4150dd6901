"""Processes that are let go at the same instant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def race(program: str, directory: Path, count: int) -> None:
    """Run a program in `count` processes at once; each must end well.

    It gets the directory as its argument, says `ready` and waits for a line.
    """
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            text=True,
        )
        for _ in range(count)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    errors = [racer.communicate()[1] for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * count, errors

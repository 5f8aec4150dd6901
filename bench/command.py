"""What the commands of this package have in common: how they read, how they tell, what may go wrong."""

from __future__ import annotations

import argparse
import subprocess
import sys

from bench.place import Failed

# What may go wrong without being a fault of the benchmark: a tool fails, a disk is full, a page is unfit.
WRONG = (Failed, OSError, ValueError, subprocess.SubprocessError)


def tell(text: str) -> None:
    """Say how far it has come, beside what is printed."""
    print(text, file=sys.stderr, flush=True)


def at_least_one(text: str) -> int:
    """The value of an option that counts something."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value

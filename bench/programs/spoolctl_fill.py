"""Enqueue a command so often with spoolctl's own command line, in one process.

Usage: spoolctl_fill.py COUNT COMMAND [ARG…].
"""

from __future__ import annotations

import sys

from spoolctl.cli import main

if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        if main(["add", "--", *sys.argv[2:]]):
            sys.exit(1)

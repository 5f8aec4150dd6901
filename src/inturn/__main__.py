"""`python -m inturn`."""

from __future__ import annotations

from inturn.cli.main import console

if __name__ == "__main__":
    console()

"""`python -m inturn`."""

from __future__ import annotations

import sys

from inturn.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

"""A job that writes one byte now and then: at irregular times, so that it keeps step with nobody's polling.

Usage: tick.py COUNT NOTES GO. The instant before each byte goes to the file NOTES (monotonic, nanoseconds).
One more is written first: who has seen it looks already, and lets the others come by a line in the FIFO GO.
"""

import os
import random
import sys
import time


def main(count: int, notes: int, go: str) -> None:
    """Do it."""
    os.write(1, b".")
    with open(go, "rb", buffering=0) as gate:
        gate.read(1)
    for _ in range(count):
        time.sleep(random.uniform(0.05, 0.25))
        now = time.monotonic_ns()
        os.write(1, b".")
        os.write(notes, b"%d\n" % now)


if __name__ == "__main__":
    main(int(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), sys.argv[3])

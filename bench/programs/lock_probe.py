"""Take and leave the write lock of a database over and over until a line comes in.

Prints a line once it has begun, and at the end the longest time in seconds that one attempt took.
"""

from __future__ import annotations

import select
import sys
import time

import apsw

PAUSE = 0.001  # between two attempts: whoever is measured is not to be kept from working


def wait_a_little(_attempts: int) -> bool:
    """The busy handler: ask again and again. SQLite's own would sleep for up to 100 ms between two tries."""
    time.sleep(0.0002)
    return True


def attempt(connection: apsw.Connection) -> float:
    """How long it takes to get the lock."""
    start = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    taken = time.perf_counter() - start
    connection.execute("ROLLBACK")
    return taken


def main(path: str) -> None:
    """Do it."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_handler(wait_a_little)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    attempt(connection)
    longest = 0.0
    print(flush=True)
    while not select.select((sys.stdin,), (), (), PAUSE)[0]:
        longest = max(longest, attempt(connection))
    print(longest)


if __name__ == "__main__":
    main(sys.argv[1])

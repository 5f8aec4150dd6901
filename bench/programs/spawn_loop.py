"""Start /bin/true so often, one after the other, and print how many seconds that took.

With a file: each followed by one durable commit to a database there. Begins when a line comes in.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable


def committing(path: str) -> Callable[[], object]:
    """What commits a row of a finished job, so that it survives a loss of power."""
    import apsw

    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, outcome TEXT)")
    return lambda: connection.execute("INSERT INTO jobs (outcome) VALUES ('success')").fetchall()


def main(count: int, path: str | None) -> None:
    """Do it."""
    commit = committing(path) if path else lambda: None
    print(flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    for _ in range(count):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
        commit()
    print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if sys.argv[2:] else None)

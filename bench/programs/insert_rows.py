"""Insert so many rows into a new database in one durable transaction, and print how long it took (s)."""

from __future__ import annotations

import sys
import time

import apsw


def main(count: int, path: str) -> None:
    """Do it."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, argv TEXT)")
    start = time.perf_counter()
    with connection:
        connection.executemany("INSERT INTO jobs (argv) VALUES (?)", ((f"true {n}",) for n in range(count)))
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])

"""A target that bears witness: `witness.py DIRECTORY LIMITS SECONDS FAILURES NEEDED…`.

It writes down that it starts and ends, and sees whether another run of its job is there, whether what it
needs has been done, and whether more slots are in use than there are. While it runs it holds a lock on a file
that says which slots it has. It imports nothing of the tests, and little else: many of them run at a time.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time


def main() -> int:
    """Be a run; the exit code is 1 for its first FAILURES attempts."""
    directory, limits, seconds, failures, *needed = sys.argv[1:]
    name, run = os.environ["INTURN_JOB_NAME"], os.environ["INTURN_RUN"]
    guard = _lock(f"{directory}/guard", fcntl.LOCK_EX)
    mine = _lock(f"{directory}/jobs/{name}", fcntl.LOCK_EX | fcntl.LOCK_NB)
    if mine is None:
        _tell(directory, "problems", f"{name} runs twice at a time (run {run})")
    pool, slots = os.environ.get("INTURN_POOL", ""), os.environ["INTURN_SLOTS"]
    place = _lock(f"{directory}/active/{pool or '-'}.{slots}.{name}.{run}", fcntl.LOCK_EX)
    for problem in _over(f"{directory}/active", json.loads(limits)):
        _tell(directory, "problems", f"{problem} while {name} runs")
    for other in needed:
        if not os.path.exists(f"{directory}/done/{other}"):
            _tell(directory, "problems", f"{name} runs before {other} has")
    _tell(directory, f"told/{name}", f"{run} start")
    assert guard is not None
    os.close(guard)
    time.sleep(float(seconds))
    failed = int(os.environ["INTURN_ATTEMPT"]) <= int(failures)
    if not failed:
        os.close(os.open(f"{directory}/done/{name}", os.O_CREAT | os.O_WRONLY))
    _tell(directory, f"told/{name}", f"{run} end")
    assert place is not None
    return int(failed)


def _lock(path: str, how: int) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, how)
    except BlockingIOError:
        return None
    return fd


def _over(active: str, limits: dict[str, int]) -> list[str]:
    """The scopes of which more is in use than there is; "" is everything."""
    used: dict[str, int] = {}
    for name in os.listdir(active):
        fd = os.open(f"{active}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pool, slots = name.split(".")[:2]
            for scope in ("", pool):
                used[scope] = used.get(scope, 0) + int(slots)
        finally:
            os.close(fd)
    return [
        f"{used[one]} slots of {one!r} are in use" for one in used if used[one] > limits.get(one, 1 << 30)
    ]


def _tell(directory: str, name: str, line: str) -> None:
    fd = os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
    os.write(fd, line.encode() + b"\n")
    os.close(fd)


if __name__ == "__main__":
    sys.exit(main())

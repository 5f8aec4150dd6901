"""The task of huey: run a command. As a program, it enqueues one: huey_tasks.py COUNT COMMAND [ARG…].

The database is the one that HUEY_DB names.
"""

from __future__ import annotations

import os
import sys

from huey import SqliteHuey

huey = SqliteHuey(filename=os.environ["HUEY_DB"])


def run_command(argv: list[str]) -> int:
    """Run a command to its end."""
    return os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp(argv[0], argv, os.environ), 0)[1])


execute = huey.task()(run_command)

if __name__ == "__main__":
    # Else the tasks would be known to the consumer by another name.
    from huey_tasks import execute as known

    for _ in range(int(sys.argv[1])):
        known(sys.argv[2:])

"""A program that runs inturn, and dies by its own SIGKILL at a named point: `mortal.py ORDERS WORD…`.

It imports nothing of the tests, so that it can stand in the place of a supervisor, which has no packages.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any


def main() -> int:
    """Read the orders, arm the point, and be what is wanted.

    `role`: `command` for `inturn WORD…`, `supervisor` for a process that takes jobs over. `point` is where to
    die, at the passage after `skip` others; `mark` is the file in which the one that dies leaves its pid:
    there is one death, whoever comes first. `children`: are the supervisors that are started mortal, too, and
    with what orders; or `nobody`, if they are to end at once. `mute`: do the hints of this process get lost.
    """
    orders: dict[str, Any] = json.loads(sys.argv[1])
    words = sys.argv[2:]
    if orders["role"] == "supervisor":
        sys.path[:] = [*words.pop(0).split(":"), *sys.path[1:]]
    from inturn import app
    from inturn.host import faults

    if orders["point"]:
        faults.arm(orders["point"], Death(orders["mark"], orders["skip"]), None)
    if orders.get("mute"):
        faults.lose_hints()
    if orders.get("unheard"):
        _mishear(orders["unheard"])
    if orders["role"] == "supervisor":
        return _supervise(*words)
    children = orders.get("children")
    python, isolated, bare, _, libraries = app.supervisor_command()
    if children == "nobody":
        app.supervisor_command = lambda: ("/bin/true",)
    elif children is not None:
        mortal = (python, isolated, bare, __file__, json.dumps(children), libraries)
        app.supervisor_command = lambda: mortal
    from inturn.cli.main import main as command

    return command(words)


def _supervise(directory: str, token: str, count: str = "") -> int:
    from inturn import nursery, supervision

    if count:
        nursery.run_nursery(directory, token, int(count))
    else:
        supervision.run_supervisor(directory, token)
    return 0


class Death:
    """What happens at the point."""

    def __init__(self, mark: str, skip: int) -> None:
        self._mark = mark
        self._skip = skip

    def __call__(self) -> None:
        self._skip -= 1
        if self._skip >= 0:
            return
        try:
            fd = os.open(self._mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return
        os.write(fd, b"%d\n" % os.getpid())
        os.kill(os.getpid(), signal.SIGKILL)


def _mishear(point: str) -> None:
    """Have the commit that follows this point be done, and reported as failed, once."""
    import apsw

    from inturn.host import faults
    from inturn.store import db

    armed: list[bool] = []
    connect = db._connect

    class Unheard:
        def __init__(self, path: str, patience: db.Patience) -> None:
            self._connection = connect(path, patience)

        def execute(self, sql: str, bindings: Any = None) -> apsw.Cursor:
            done = self._connection.execute(sql, bindings)
            if armed and sql == "COMMIT":
                armed.clear()
                raise apsw.IOError("disk I/O error")
            return done

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

    db._connect = Unheard  # type: ignore[assignment]
    faults.arm(point, lambda: armed.append(True))


if __name__ == "__main__":
    sys.exit(main())

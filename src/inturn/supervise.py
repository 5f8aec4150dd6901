"""The program of a supervisor process, run as a script by an isolated interpreter without site-packages.

Its arguments are the directories to import from, joined as in PATH, the store's directory, the owner's token
and, for several supervisors at once, their number. It is a file of its own so that `ps` shows what it is.
"""

import gc
import os
import sys

if __name__ == "__main__":
    # As in `cli.main`, and said again: nothing of ours can be imported yet, and this is about importing.
    gc.set_threshold(20_000)
    sys.path[:] = [*sys.argv[1].split(":"), *sys.path[1:]]
    if len(sys.argv) > 4:
        from inturn.nursery import run_nursery

        run_nursery(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        from inturn.supervision import run_supervisor

        run_supervisor(sys.argv[2], sys.argv[3])
    # All is closed and put away. To take the interpreter apart as well would hold up those who are next.
    os._exit(0)

"""The program of a supervisor process, run as a script by an isolated interpreter without site-packages.

Its arguments are the directories to import from, joined by NUL-free colons as in PATH, the store's directory
and the owner's token. It is a file of its own so that `ps` shows what the process is.
"""

import sys

if __name__ == "__main__":
    sys.path[:] = [*sys.argv[1].split(":"), *sys.path[1:]]
    from inturn.app import run_supervisor

    run_supervisor(sys.argv[2], sys.argv[3])

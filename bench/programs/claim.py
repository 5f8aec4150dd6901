"""Claim so many jobs of the queue `default`, as a worker does, and print the time of each in seconds.

A claim is one durable transaction. Nothing is started: `inturn recover` puts the jobs back in line.
"""

from __future__ import annotations

import json
import os
import sys
import time

from inturn.app import open_context
from inturn.engines.local import LocalEngine
from inturn.host import clock, identity, locks, paths
from inturn.owners import claim
from inturn.owners.tools import Tools
from inturn.store import owners
from inturn.store.db import Store

QUEUES = {"default": None}


def register(store: Store, directory: str, places: int) -> int:
    """Enter this process into the registry, as a worker with so many places; its lock is free at its end."""
    token = os.urandom(8).hex()
    lock = locks.file_id(locks.create(paths.owner_files(directory, token)[0]))
    me = identity.of(os.getpid())
    assert me is not None
    with store.writing():
        owner = owners.register(store, "worker", token, me.text(), lock, "0", clock.now())
        owners.serve(store, owner, QUEUES, places)
    return owner


def main(directory: str, count: int) -> None:
    """Do it."""
    store = open_context(directory, None, False, print).store
    assert store is not None
    owner = register(store, directory, count + 1)
    tools = Tools(store, LocalEngine(), clock.now, clock.draw, directory, owner, lambda: None)
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        claimed = claim.claim(tools, QUEUES, clock.now(), 1, draining=False)
        taken.append(time.perf_counter() - start)
        assert claimed.admitted
    print(json.dumps(taken))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""The life of a supervisor: what a process is put together from that has nothing to do but to own one job.

It is apart from `inturn.app`, which knows what commands need: a waiting supervisor would keep that in memory.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from inturn.host.spares import Spares
    from inturn.owners.tools import Tools
    from inturn.store.db import Store


def run_supervisor(directory: str, token: str) -> None:
    """The life of a supervisor process, from its first instruction in our code to its end.

    It waits for the submitting process to say that the job is stored; if that process died instead, it looks
    for a job of its own all the same.
    """
    from inturn.host import detach, diary, faults
    from inturn.owners import acceptance  # noqa: F401 - loaded while the submitting process does its part
    from inturn.store import db  # noqa: F401

    detach.settle_down()
    faults.point("supervisor.started")
    os.read(detach.GO_FD, 1)
    os.close(detach.GO_FD)

    def answer(message: bytes) -> None:
        try:
            os.write(detach.ANSWER_FD, message)
        finally:
            os.close(detach.ANSWER_FD)

    with diary.keep(directory):
        supervise(directory, token, answer, None)


def supervise(directory: str, token: str, answer: Callable[[bytes], None], fifo: int | None) -> None:
    """Take over the job that was stored in the name of `token`, run it to its end, leave nothing behind.

    `fifo` is where its hints arrive, if that has been created.
    """
    from inturn.host import clock, detach, faults, paths, wake
    from inturn.owners import acceptance
    from inturn.store import owners
    from inturn.store.db import open_store

    faults.point("supervisor.told")
    lock_path, fifo_path = paths.owner_files(directory, token)
    try:
        store = open_store(directory, wake.ringer(directory), create=False)
        me = owners.by_token(store, token)
        if me is None:  # nothing was stored
            faults.point("supervisor.unneeded")
            paths.discard(fifo_path, lock_path)
            return
        if fifo is None:
            fifo = wake.create(fifo_path)
        faults.point("supervisor.present")
        acceptance.accept(store, me.id, clock.now())
        faults.point("supervisor.accepted")
    except Exception as error:
        _tell(answer, str(error).encode("utf-8", "replace")[:4000] or b"it failed")
        raise
    _tell(answer, detach.READY)
    faults.point("supervisor.answered")
    # At once: what is loaded when the job starts might be that of a newer version.
    from inturn.owners import supervisor
    from inturn.owners.owner import Owner

    tools = equip(store, directory, me.id)
    owner = Owner(tools, fifo)
    if supervisor.take_over(tools, owner):
        supervisor.supervise(owner)
    faults.point("supervisor.done")
    # The store is left open: the end of the process closes it as well, and sooner. Whoever is next in line
    # may be waiting for this processor.
    supervisor.say_goodbye(tools)
    faults.point("supervisor.left")
    paths.discard(fifo_path, lock_path)


def _tell(answer: Callable[[bytes], None], message: bytes) -> None:
    try:
        answer(message)
    except BrokenPipeError:
        pass  # Whoever submitted the job has gone meanwhile; it is ours all the same.


def equip(store: Store, directory: str, owner: int, spares: Spares | None = None) -> Tools:
    """What an owner works with, on the engine that runs programs on this machine."""
    from inturn.engines.local import LocalEngine
    from inturn.host import clock
    from inturn.owners.tools import Tools

    def bury_the_dead() -> None:
        from inturn import app

        app.bury_the_dead(store, directory)

    return Tools(store, LocalEngine(spares), clock.now, clock.draw, directory, owner, bury_the_dead)

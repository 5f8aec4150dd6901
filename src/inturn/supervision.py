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
        _supervise(directory, token, answer, lambda: None)


def run_nursery(directory: str, token: str, count: int) -> None:
    """Fork `count` supervisors, accept their jobs for them, and end: each waits as a single one would.

    Whatever one of them does, from its first instruction to its sleep, is memory that it shares no more.
    """
    import select  # noqa: F401 - all that they need is loaded once, and shared

    from inturn import conditions  # noqa: F401
    from inturn.engines import local  # noqa: F401
    from inturn.host import brood, detach, diary, faults, paths
    from inturn.owners import owner, supervisor, tools  # noqa: F401
    from inturn.store import db  # noqa: F401

    detach.settle_down()
    os.close(detach.LOCK_FD)

    def live(number: int, hatched: Callable[[], None], present: Callable[[], None]) -> None:
        own = brood.token_of(token, number)
        lock_path, _ = paths.owner_files(directory, own)
        _, lock = brood.lock_of(lock_path)
        faults.point("nursling.locked")
        brood.report(detach.ANSWER_FD, brood.HATCHED, number, lock)
        hatched()
        faults.point("nursling.reported")
        os.read(detach.GO_FD, 1)  # ends when the submitting process has closed it
        os.close(detach.GO_FD)

        def answer(message: bytes) -> None:
            try:
                if message == detach.READY:
                    brood.report(detach.ANSWER_FD, brood.ACCEPTED, number, lock)
            finally:
                os.close(detach.ANSWER_FD)

        with diary.keep(directory):
            _supervise(directory, own, answer, present)

    def accept(voices: int) -> None:
        os.read(detach.GO_FD, 1)
        _accept_all(directory, [brood.token_of(token, number) for number in brood.await_present(voices)])

    hatched = brood.hatch(count, live, accept)
    if hatched < count:
        brood.report(detach.ANSWER_FD, brood.REFUSED, hatched, (0, 0))


def _accept_all(directory: str, tokens: list[str]) -> None:
    """Accept the jobs of those who are present; who was late, or all if this fails, do it themselves."""
    from inturn.errors import InturnError
    from inturn.host import clock, wake
    from inturn.owners import acceptance
    from inturn.store.db import open_store
    from inturn.store.transaction import CommitUnknown

    try:
        store = open_store(directory, wake.ringer(directory), create=False)
        acceptance.accept_all(store, tokens, clock.now)
        store.close()
    except (InturnError, CommitUnknown):
        pass


def _supervise(
    directory: str, token: str, answer: Callable[[bytes], None], present: Callable[[], None]
) -> None:
    """Take over the job that was stored in the name of `token`, run it to its end, leave nothing behind.

    `present` is called when nothing stands in the way of accepting it.
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
            paths.discard(lock_path)
            return
        fifo = wake.create(fifo_path)
        faults.point("supervisor.present")
        present()
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
    supervisor.say_goodbye(tools)
    store.close()
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

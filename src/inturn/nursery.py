"""The life of a process that forks many supervisors, and of the nurse that it leaves with them.

It is apart from `inturn.supervision`, which a single supervisor keeps in memory as long as it waits.
"""

from __future__ import annotations

import os


def run_nursery(directory: str, token: str, count: int) -> None:
    """Fork `count` supervisors, accept their jobs for them, leave a nurse with them, and end.

    Whatever one of them does, from its first instruction to its sleep, is memory that it shares no more. So
    they sleep before they have even opened the store, until there is a hint for them, or the nurse finds that
    something concerns them: see `inturn.owners.nurse`.
    """
    import select  # noqa: F401 - all that they need is loaded once, and shared

    from inturn import (
        conditions,  # noqa: F401
        supervision,
    )
    from inturn.engines import local  # noqa: F401
    from inturn.host import brood, detach, diary, faults, paths, wake
    from inturn.owners import nurse, owner, supervisor, tools  # noqa: F401
    from inturn.store import db  # noqa: F401

    detach.settle_down()
    os.close(detach.LOCK_FD)
    tokens = [brood.token_of(token, number) for number in range(count)]

    def live(one: brood.Nursling) -> None:
        lock_path, fifo_path = paths.owner_files(directory, tokens[one.number])
        _, lock = brood.lock_of(lock_path)
        faults.point("nursling.locked")
        try:
            brood.report(detach.ANSWER_FD, brood.HATCHED, one.number, lock)
        except BrokenPipeError:  # Whoever wanted to submit something has died.
            paths.discard(lock_path)
            return
        one.hatched()
        faults.point("nursling.reported")
        os.read(detach.GO_FD, 1)  # ends when the submitting process has closed it
        os.close(detach.GO_FD)
        awaited = True

        def stop_answering() -> None:
            nonlocal awaited
            awaited = False
            os.close(detach.ANSWER_FD)

        def answer(message: bytes) -> None:
            if not awaited:
                return
            try:
                if message == detach.READY:
                    brood.report(detach.ANSWER_FD, brood.ACCEPTED, one.number, lock)
            finally:
                stop_answering()

        with diary.keep(directory):
            fifo = wake.create(fifo_path)
            faults.point("nursling.present")
            one.sleep(fifo, stop_answering)
            faults.point("nursling.woken")
            supervision.supervise(directory, tokens[one.number], answer, fifo)

    def part(voices: int) -> bool:
        os.read(detach.GO_FD, 1)
        present = brood.await_present(voices)
        # Others may have come while the first ones were accepted: whoever has spoken up counts as in time.
        while present:
            if not _accept_all(directory, [tokens[number] for number in present]):
                return False
            for number in present:
                brood.report(detach.ANSWER_FD, brood.ACCEPTED, number, (0, 0))
            present = brood.await_present(voices, 0)
        return True

    def stay(beds: int) -> None:
        os.close(detach.GO_FD)
        os.close(detach.ANSWER_FD)
        faults.point("nurse.started")
        with diary.keep(directory):
            _nurse(directory, tokens, beds)

    hatched = brood.hatch(count, live, part, stay)
    if hatched < count:
        brood.report(detach.ANSWER_FD, brood.REFUSED, hatched, (0, 0))


def _accept_all(directory: str, tokens: list[str]) -> bool:
    """Accept the jobs of those who are present; if this fails (False), they do it themselves."""
    from inturn.errors import InturnError
    from inturn.host import clock
    from inturn.owners import acceptance
    from inturn.store.db import open_store
    from inturn.store.transaction import CommitUnknown

    try:
        # Nobody is told of it: the nurse wakes those who have something to do.
        store = open_store(directory, lambda _: None, create=False)
        try:
            acceptance.accept_all(store, tokens, clock.now)
        finally:
            store.close()
    except (InturnError, CommitUnknown):
        return False
    return True


def _nurse(directory: str, tokens: list[str], beds: int) -> None:
    """Look at the store for those who sleep."""
    from inturn.host import wake
    from inturn.owners.nurse import Nurse
    from inturn.store.db import open_store
    from inturn.supervision import equip

    store = open_store(directory, wake.ringer(directory), create=False)
    nurse = Nurse(equip(store, directory, 0), beds, tokens)
    while not nurse.finished():
        nurse.turn()
    store.close()

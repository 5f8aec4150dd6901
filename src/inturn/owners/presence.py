"""What shows that this very process owns jobs: its lock, its FIFO, its row in the registry."""

from __future__ import annotations

import os

from inturn import __version__
from inturn.host import clock, faults, identity, locks, paths, wake
from inturn.store import owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from inturn.core.moment import Now
    from inturn.store.db import Store


class Presence:
    """The lock and the FIFO of an owner in this very process."""

    def __init__(self, directory: str) -> None:
        self._token = os.urandom(8).hex()
        self._lock_path, self._fifo_path = paths.owner_files(directory, self._token)

    def __enter__(self) -> Presence:
        self._lock = locks.create(self._lock_path)
        faults.point("presence.locked")
        self.fifo = wake.create(self._fifo_path)
        faults.point("presence.complete")
        return self

    def __exit__(self, *_: object) -> None:
        import signal

        # A signal that comes late must not be written into a file that gets the number of the FIFO.
        signal.set_wakeup_fd(-1)
        for fd in (self.fifo, self._lock):
            os.close(fd)
        faults.point("presence.left")
        paths.discard(self._fifo_path, self._lock_path)

    def register(self, store: Store, kind: str, now: Now) -> int:
        """Add this process to the registry, in the present transaction."""
        who = identity.of(os.getpid()) or identity.Identity(os.getpid(), 0, clock.boot_id(), 0)
        lock = locks.file_id(self._lock)
        return owners.register(store, kind, self._token, who.text(), lock, __version__, now)

    def on_stop_signals(self, call: Callable[[], None]) -> None:
        """Have TERM, Ctrl-C and hang-up call `call`, and interrupt the sleep of the owner."""
        import signal

        # The signal's number arrives in the FIFO like a hint.
        signal.set_wakeup_fd(self.fifo, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: call())

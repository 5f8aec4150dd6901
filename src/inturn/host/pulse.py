"""Whether a process that holds a lock lives: the lock says so; where it proves nothing, its identity does."""

from __future__ import annotations

from inturn.host import identity, locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.host.identity import Verdict


def verdict(lock_path: str, dev: int, ino: int, who: str) -> Verdict:
    """Whether the process is `alive`, `dead` or `unknown`. `dev` and `ino` are of the file that it locked.

    A held lock proves life. A free one proves death, because it is the very file that was locked. If the file
    is gone or another one, the identity decides; `who` is the stored form of it.
    """
    try:
        finding = locks.probe(lock_path, dev, ino)
        if finding == "held":
            return "alive"
        if finding == "free":
            return "dead"
        return identity.verify(identity.parse(who))
    except (OSError, ValueError):
        return "unknown"


def is_stopped(who: str) -> bool:
    """Whether the process with this identity, in its stored form, is proven to be alive and stopped."""
    try:
        return identity.is_stopped(identity.parse(who))
    except ValueError:
        return False

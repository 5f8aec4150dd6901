"""Whether other owners live: a look that costs next to nothing, so that everybody may take it."""

from __future__ import annotations

from inturn.host import identity, locks, paths
from inturn.store import owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.moment import Now
    from inturn.store.db import Store
    from inturn.store.owners import Owner

# Owners whose life is checked in passing.
LOOKS_AT_ONCE = 8


def anyone_dead(store: Store, directory: str, now: Now, draw: float) -> bool:
    """Whether there is a dead owner among the most suspicious ones, `draw` choosing among the others."""
    suspects = owners.suspects(store, now, LOOKS_AT_ONCE, draw)
    return any(one.gone_at is not None or verdict(directory, one) == "dead" for one in suspects)


def verdict(directory: str, owner: Owner) -> str:
    """Whether an owner is `alive`, `dead` or `unknown`.

    A held lock proves life. A free one proves death, because it is the very file that was locked. If the file
    is gone or another one, only a process that is certainly gone is proof.
    """
    lock_path, _ = paths.owner_files(directory, owner.token)
    finding = locks.probe(lock_path, owner.lock_dev, owner.lock_ino)
    if finding == "held":
        return "alive"
    if finding == "free":
        return "dead"
    try:
        return "dead" if identity.verify(identity.parse(owner.identity)) == "dead" else "unknown"
    except ValueError:
        return "unknown"

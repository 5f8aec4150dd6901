"""Whether other owners live: a look that costs next to nothing, so that everybody may take it."""

from __future__ import annotations

from inturn.host import paths, pulse
from inturn.store import owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from inturn.core.moment import Now
    from inturn.host.identity import Verdict
    from inturn.store.db import Store
    from inturn.store.owners import Owner

# Owners whose life is checked in passing.
LOOKS_AT_ONCE = 8

# Of a crowd, each looks once in so many polls: all together then look three times a second. A few look as
# often as they renew their leases.
POLLS_BETWEEN_LOOKS = 3


def anyone_dead(store: Store, directory: str, now: Now, draw: float) -> bool:
    """Whether there is a dead owner among the most suspicious ones, `draw` choosing among the others."""
    suspects = owners.suspects(store, now, LOOKS_AT_ONCE, draw)
    return any(one.gone_at is not None or verdict(directory, one) == "dead" for one in suspects)


def any_dead_owner_of(store: Store, directory: str, job_ids: Iterable[int]) -> bool:
    """Whether one of these jobs has an owner that is dead."""
    found = owners.of_jobs(store, job_ids)
    return any(one.gone_at is not None or verdict(directory, one) == "dead" for one in found)


def verdict(directory: str, owner: Owner) -> Verdict:
    """Whether an owner is `alive`, `dead` or `unknown`; see `inturn.host.pulse`."""
    lock_path, _ = paths.owner_files(directory, owner.token)
    return pulse.verdict(lock_path, owner.lock_dev, owner.lock_ino, owner.identity)

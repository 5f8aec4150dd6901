"""Some descriptors of a process are kept for what takes one for a moment, and must not fail for want of it.

A new descriptor gets the lowest number that is free. So if nothing that is kept for long has one of the last
numbers, they are free for the rest: to see who is left of a run, to wake others, to load a module.
"""

from __future__ import annotations

# How many there are to be: a start takes four for a moment, and nothing else more.
KEPT = 8

_limit = 0


def is_among_the_last(fd: int) -> bool:
    """Whether this new descriptor is one of the last: it is to be given up again, at once or soon."""
    global _limit
    if fd < _limit - KEPT:
        return False
    import resource  # it is there already: `host.spawn.prepare` has loaded it

    # It may have been raised meanwhile (prlimit).
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    _limit = soft if soft != resource.RLIM_INFINITY else 1 << 30
    return fd >= _limit - KEPT

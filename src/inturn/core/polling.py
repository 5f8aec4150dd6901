"""How often an owner looks at the store. Polling is the truth; a wake-up only makes it quicker.

Whoever finds that the store has changed also looks for others that have missed their wake-up. So what a lost
one costs is the time until anybody looks, and the rate of all together need not grow with the crowd.
"""

from __future__ import annotations

from inturn.core.moment import MILLISECOND, SECOND

BASE_INTERVAL = 100 * MILLISECOND
LONGEST_INTERVAL = 100 * SECOND

# How often a second all of them look together, unless the configuration file says otherwise; and at most.
LOOKS_PER_SECOND = 10
MOST_LOOKS_PER_SECOND = 10_000


def poll_interval(owners: int, looks_per_second: int | None = None) -> int:
    """Microseconds between two looks of one owner while so many of them look at the same store.

    All together keep to `looks_per_second`, so that a thousand sleepers do not eat the machine, until each
    would look more rarely than every LONGEST_INTERVAL: so long can go unseen what only the owner itself looks
    at, such as that its job is to be cancelled. None stands for LOOKS_PER_SECOND.
    """
    fair_share = -(-owners * SECOND // (looks_per_second or LOOKS_PER_SECOND))
    return max(BASE_INTERVAL, min(fair_share, LONGEST_INTERVAL))


def jittered(interval_us: int, draw: float) -> int:
    """`interval_us` stretched uniformly to between 90 and 110 %, ends included.

    `draw` is a random number in [0, 1). Without jitter, owners that were submitted together would wake in
    lockstep and collide on every transaction.
    """
    shortest = -(-interval_us * 9 // 10)
    longest = interval_us * 11 // 10
    return shortest + int(draw * (longest - shortest + 1))

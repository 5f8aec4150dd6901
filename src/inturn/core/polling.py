"""How often an owner looks at the store. Polling is the truth; a wake-up only makes it quicker."""

from __future__ import annotations

from inturn.core.moment import MILLISECOND, SECOND

BASE_INTERVAL = 100 * MILLISECOND
BUDGET_PER_SECOND = 20
LONGEST_INTERVAL = 50 * SECOND


def poll_interval(
    waiting_owners: int,
    base_us: int = BASE_INTERVAL,
    budget_per_s: int = BUDGET_PER_SECOND,
    cap_us: int = LONGEST_INTERVAL,
) -> int:
    """Microseconds between two looks of one owner while `waiting_owners` of them poll the same store.

    The interval is `base_us` as long as all owners together stay within `budget_per_s` looks a second. Beyond
    that it grows with the crowd, so that a thousand sleepers do not eat the machine, but never over `cap_us`:
    that is the longest that a lost wake-up can cost. A base longer than the cap is the user's wish and stays.
    """
    fair_share = -(-waiting_owners * SECOND // budget_per_s)
    return max(base_us, min(fair_share, cap_us))


def jittered(interval_us: int, draw: float) -> int:
    """`interval_us` stretched uniformly to between 90 and 110 %, ends included.

    `draw` is a random number in [0, 1). Without jitter, owners that were submitted together would wake in
    lockstep and collide on every transaction.
    """
    shortest = -(-interval_us * 9 // 10)
    longest = interval_us * 11 // 10
    return shortest + int(draw * (longest - shortest + 1))

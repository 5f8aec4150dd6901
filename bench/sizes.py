"""How much is done: for numbers to go by, for a quick look, and for the tests of the benchmark itself."""

from __future__ import annotations

from typing import NamedTuple


class Sizes(NamedTuple):
    """How many of what; the defaults are those of a full run."""

    rounds: int = 5
    submissions: int = 8  # one after the other, each whole
    bulk: int = 100_000  # jobs in one submission
    drained: int = 1000
    dispatches: int = 30
    chain: int = 20
    crowd: int = 200  # supervised jobs behind one slot
    waiting: int = 200
    waiting_seconds: float = 10
    finished: int = 1_000_000
    behind: int = 100_000  # delayed, and as many due
    few: int = 1000  # jobs in a store that counts as small
    claims: int = 1000
    looks: int = 8
    due: int = 100_000  # what a worker has before it
    log_bytes: int = 1 << 30
    log_ticks: int = 40


FULL = Sizes()

QUICK = Sizes(
    rounds=2,
    submissions=5,
    bulk=10_000,
    drained=200,
    dispatches=10,
    crowd=40,
    waiting=30,
    waiting_seconds=3,
    finished=50_000,
    behind=5000,
    few=500,
    claims=300,
    looks=4,
    due=10_000,
    log_bytes=1 << 26,
    log_ticks=12,
)

TINY = Sizes(
    rounds=1,
    submissions=1,
    bulk=60,
    drained=8,
    dispatches=1,
    chain=2,
    crowd=2,
    waiting=2,
    waiting_seconds=0.1,
    finished=40,
    behind=20,
    few=10,
    claims=5,
    looks=1,
    due=30,
    log_bytes=1 << 16,
    log_ticks=2,
)

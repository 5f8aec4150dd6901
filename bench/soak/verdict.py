"""Whether the soak has passed: the quarters of the time after the warm-up, compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

from bench.soak.gauge import Sample

MEMORY_FACTOR, MEMORY_MIB = 1.1, 1.0
GROWTH_FACTOR = 1.15
WAL_MIB = 64.0
RATE_SHARE = 0.95

# Fewer samples than this cannot be told apart in quarters.
FEWEST = 8


class Span(NamedTuple):
    """What one quarter had of something."""

    median: float
    most: float


class Finding(NamedTuple):
    """What became of one thing: in the quarters, and by the hour (the slope of a line through all samples).

    `bound` says in words what is asked of it, '' if nothing is; then it is `fine`.
    """

    what: str
    unit: str
    quarters: tuple[Span, Span, Span, Span]
    slope: float
    bound: str = ""
    fine: bool = True


class Measure(NamedTuple):
    """Something that is watched: a field of the samples, and what is asked of it, in words and done."""

    field: str
    what: str
    unit: str
    bound: str = ""
    holds: Callable[[Sequence[Span]], bool] = lambda _: True


def _memory(quarters: Sequence[Span]) -> bool:
    return quarters[3].median <= MEMORY_FACTOR * quarters[0].median + MEMORY_MIB


def _has_stopped_growing(slack: float) -> Callable[[Sequence[Span]], bool]:
    """Few of something are not growth: `slack` more is allowed in any case."""
    return lambda quarters: (
        quarters[3].median <= max(GROWTH_FACTOR * quarters[1].median, quarters[1].median + slack)
    )


def _short(quarters: Sequence[Span]) -> bool:
    return max(quarter.most for quarter in quarters) <= WAL_MIB


_MEMORY = f"last ≤ {MEMORY_FACTOR} × first + {MEMORY_MIB:.0f} MiB"
_GROWTH = f"last ≤ {GROWTH_FACTOR} × second"

MEASURES = (
    Measure("pss", "memory of the worker (PSS)", "MiB", _MEMORY, _memory),
    Measure("rss", "memory of the worker (RSS)", "MiB", _MEMORY, _memory),
    Measure("descriptors", "open files of the worker", "", _GROWTH, _has_stopped_growing(5)),
    Measure("cpu", "processor time of the worker", "% of a core"),
    Measure("wal", "`inturn.db-wal`", "MiB", f"always ≤ {WAL_MIB:.0f} MiB", _short),
    Measure("database", "`inturn.db`", "MiB", _GROWTH, _has_stopped_growing(1)),
    Measure("unused", "of it unused", "MiB"),
    Measure("log_files", "files in `logs/`", "", _GROWTH, _has_stopped_growing(10)),
    Measure("log_directories", "directories in `logs/`", "", _GROWTH, _has_stopped_growing(5)),
    Measure("logs", "`logs/` on the disk", "MiB", _GROWTH, _has_stopped_growing(1)),
    Measure("owner_files", "files in `owners/`", "", _GROWTH, _has_stopped_growing(10)),
    Measure("jobs", "jobs in the store", "", _GROWTH, _has_stopped_growing(10)),
    Measure("waiting", "of them not begun, or to be repeated", ""),
    Measure("free", "free on the disk", "MiB"),
    Measure("latency", "until a new job runs", "ms"),
)


def judge(samples: Sequence[Sample], warm_up: float, rate: float) -> list[Finding]:
    """What the samples after `warm_up` seconds say; `rate` is how many jobs a second there were to do.

    Raises ValueError if there are too few to say anything.
    """
    steady = [sample for sample in samples if sample.at >= warm_up]
    if len(steady) < FEWEST:
        raise ValueError(
            f"{len(steady)} samples after the warm-up are too few for a verdict: it needs {FEWEST}"
        )
    # The WAL is never to be long, not even in the beginning.
    findings = [_finding(measure, samples if measure.field == "wal" else steady) for measure in MEASURES]
    return [*findings, _of_rate(steady, rate)]


def _finding(measure: Measure, samples: Sequence[Sample]) -> Finding:
    quarters = _quarters(samples, measure.field)
    slope = slope_per_hour(samples, measure.field)
    return Finding(measure.what, measure.unit, quarters, slope, measure.bound, measure.holds(quarters))


def _of_rate(samples: Sequence[Sample], rate: float) -> Finding:
    quarters = _quarters(samples, "rate")
    done = fmean(sample.rate for sample in samples)
    bound = f"{done:.1f} in the mean, ≥ {RATE_SHARE:.0%} of {rate:g}".replace("%", " %")
    return Finding(
        "jobs done", "a second", quarters, slope_per_hour(samples, "rate"), bound, done >= RATE_SHARE * rate
    )


def _quarters(samples: Sequence[Sample], field: str) -> tuple[Span, Span, Span, Span]:
    values = [float(getattr(sample, field)) for sample in samples]
    bounds = [len(values) * number // 4 for number in range(5)]
    parts = [values[start:end] for start, end in pairwise(bounds)]
    first, second, third, last = (Span(median(part), max(part)) for part in parts)
    return first, second, third, last


def slope_per_hour(samples: Sequence[Sample], field: str) -> float:
    """By how much something grows in an hour: the slope of the straight line that fits best."""
    times = [sample.at / 3600 for sample in samples]
    values = [float(getattr(sample, field)) for sample in samples]
    middle, level = fmean(times), fmean(values)
    spread = sum((time - middle) ** 2 for time in times)
    together = sum((time - middle) * (value - level) for time, value in zip(times, values, strict=True))
    return together / spread if spread else 0.0

"""Taking turns: each round measures every case once, so that a noisy machine disturbs all alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.place import Arena
from bench.records import Case, Record, ratio

Series = dict[tuple[str, str], list[list[float]]]  # by what and metric: samples by round


def measure(
    scenario: str, cases: Sequence[Case], arena: Arena, rounds: int, tell: Callable[[str], None]
) -> list[Record]:
    """Measure all cases, so many rounds; `tell` is told what is going on.

    Each round in another order: no case always follows the same other one, or comes first.
    """
    series: Series = {}
    units: dict[tuple[str, str], str] = {}
    for number in range(rounds):
        for case in _order(cases, number, rounds):
            tell(f"{scenario}, round {number + 1} of {rounds}: {case.what}")
            with arena.place() as place:
                for metric, unit, value in case.measure(place):
                    key = case.what, metric
                    units[key] = unit
                    series.setdefault(key, [[] for _ in range(rounds)])[number].append(value)
    return [
        Record(scenario, case.tool, what, metric, units[what, metric], samples, _ratios(case, metric, series))
        for case in cases
        for (what, metric), samples in series.items()
        if what == case.what
    ]


def _order(cases: Sequence[Case], number: int, rounds: int) -> list[Case]:
    """Rounds begin at places far from each other, and every other one goes backwards."""
    first = number * len(cases) // rounds
    order = [*cases[first:], *cases[:first]]
    return order[::-1] if number % 2 else order


def _ratios(case: Case, metric: str, series: Series) -> dict[str, float]:
    """The ratios of a metric to that of the cases it is compared with, those that have it."""
    found = {
        other: ratio(series[case.what, metric], series[other, metric])
        for other in case.against
        if (other, metric) in series
    }
    return {other: value for other, value in found.items() if value is not None}

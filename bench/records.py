"""What a benchmark is made of, and what it gives: cases, measurements, and the records made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bench.place import Place

# Units of which more is better; of all others, less is.
RATES = frozenset({"jobs/s", "claims/s", "GB/s"})


class Measurement(NamedTuple):
    """One number. Those of one metric in one round are samples of the same thing."""

    metric: str
    unit: str
    value: float


class Case(NamedTuple):
    """One thing that a scenario measures, once a round, in a directory of its own.

    `tool` is whose cost it is: `inturn`, a neighbour, or `floor` for what the machine needs in any case.
    `against` names other cases of the scenario, by their `what`, that this one is compared with.
    """

    tool: str
    what: str
    measure: Callable[[Place], Iterable[Measurement]]
    against: tuple[str, ...] = ()


class Record(NamedTuple):
    """All samples of one metric of one case: a list of them for each round."""

    scenario: str
    tool: str
    what: str
    metric: str
    unit: str
    rounds: list[list[float]]
    ratios: dict[str, float]

    @property
    def samples(self) -> list[float]:
        """The samples of all rounds."""
        return [value for samples in self.rounds for value in samples]

    @property
    def median(self) -> float:
        """The median over all rounds."""
        return median(self.samples)

    @property
    def p95(self) -> float:
        """What 95 % of the samples are at least as good as: of a rate, a low value."""
        return percentile(self.samples, 0.95, falling=self.unit in RATES)

    def plain(self) -> dict[str, Any]:
        """The record as JSON has it."""
        return {**self._asdict(), "median": self.median, "p95": self.p95, "samples": len(self.samples)}


def percentile(samples: list[float], share: float, falling: bool = False) -> float:
    """The smallest of the samples that `share` of them do not exceed; `falling`: counted from the top."""
    ordered = sorted(samples, reverse=falling)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def ratio(rounds: list[list[float]], others: list[list[float]]) -> float | None:
    """The median over the rounds of one median divided by the other of the same round.

    A machine that slows down for a while disturbs both of a round. None if they cannot be compared.
    """
    pairs = [(median(one), median(other)) for one, other in zip(rounds, others, strict=True) if one and other]
    quotients = [one / other for one, other in pairs if other > 0]
    return median(quotients) if quotients else None

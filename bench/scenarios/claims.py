"""How fast a worker claims jobs in a store where very many others lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from bench import stores
from bench.place import Place, program
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.tools.inturn import inturn

ALONE = "nothing else in the store"


def cases(setting: Setting) -> list[Case]:
    """A full store, and one with nothing but what is claimed."""
    sizes, arena = setting.sizes, setting.arena

    def claiming(made: Callable[[], Place]) -> Callable[[Place], Iterator[Measurement]]:
        def measure(_place: Place) -> Iterator[Measurement]:
            place = made()
            taken = json.loads(place.run(program("claim.py", place.store, sizes.claims)))
            # The claimer is dead, and started nothing: all is put back in line.
            inturn(place, "recover")
            yield Measurement("rate", "claims/s", len(taken) / sum(taken))
            yield from (Measurement("one claim", "µs", seconds * 1e6) for seconds in taken)

        return measure

    full = f"{sizes.finished:,} finished, {sizes.behind:,} delayed of a higher priority, {sizes.behind:,} due"
    return [
        Case("inturn", ALONE, claiming(lambda: stores.only_due(arena, sizes))),
        Case("inturn", full, claiming(lambda: stores.big(arena, sizes)), (ALONE,)),
    ]


SCENARIO = Scenario("claims", "Claims in a full store, each a durable transaction", cases)

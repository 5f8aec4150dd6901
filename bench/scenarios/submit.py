"""What a submission takes, from the start of the command to its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.floors import BARE, BARE_PYTHON
from bench.place import Place
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.tools import INTURN
from bench.tools.base import Tool
from bench.tools.inturn import PROGRAM


def cases(setting: Setting) -> list[Case]:
    """Both verbs, the neighbours, and an interpreter that does nothing."""
    count = setting.sizes.submissions

    def bare(place: Place) -> Iterator[Measurement]:
        for _ in range(count):
            yield Measurement("time", "ms", place.time(BARE_PYTHON))

    def submitting(tool: Tool, what: str, command: Sequence[str]) -> Case:
        def measure(place: Place) -> Iterator[Measurement]:
            tool.prepare(place)
            environment = tool.environment(place)
            # The first makes the store, or starts the server.
            place.time(command, environment)
            for _ in range(count):
                place.calm(tool.residents)
                yield Measurement("time", "ms", place.time(command, environment))

        return Case(tool.name, what, measure, (BARE,))

    return [
        Case("floor", BARE, bare),
        submitting(INTURN, "`inturn run -- true`", [PROGRAM, "run", "--", "true"]),
        *(submitting(tool, tool.submission, tool.add(["true"])) for tool in (INTURN, *setting.neighbours)),
    ]


SCENARIO = Scenario("submit", "Submitting one job, the whole process", cases)

"""Submitting very many jobs at once, and for how long that keeps others from writing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from bench.place import Place, program
from bench.records import Case, Measurement
from bench.scenarios.base import Scenario, Setting
from bench.tools import INTURN
from bench.tools.inturn import PROGRAM

ROWS = "plain rows in one transaction"


def cases(setting: Setting) -> list[Case]:
    """A file of JSON lines, an array, and plain rows."""
    count = setting.sizes.bulk

    def rows(place: Place) -> Iterator[Measurement]:
        seconds = float(place.run(program("insert_rows.py", count, place.file("floor.db"))))
        yield Measurement("rate", "jobs/s", count / seconds)

    def from_file(place: Place) -> Iterator[Measurement]:
        path = place.file("jobs.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"command": ["true", str(number)]}) + "\n" for number in range(count))
        return _submit(place, ["--from-file", path], count)

    def array(place: Place) -> Iterator[Measurement]:
        return _submit(place, ["--array", f"1-{count}", "--", "true", "{}"], count)

    return [
        Case("floor", ROWS, rows),
        Case("inturn", "`inturn add --from-file FILE`", from_file, (ROWS,)),
        Case("inturn", "`inturn add --array 1-N -- true {}`", array, (ROWS,)),
    ]


def _submit(place: Place, words: Sequence[str], count: int) -> Iterator[Measurement]:
    INTURN.submit(place, ["true"])
    probe = place.popen(program("lock_probe.py", f"{place.store}/inturn.db"), fed=True)
    assert probe.stdout is not None
    assert probe.stdin is not None
    probe.stdout.readline()
    milliseconds = place.time([PROGRAM, "add", *words])
    probe.stdin.close()
    yield Measurement("rate", "jobs/s", count / milliseconds * 1000)
    yield Measurement("longest wait of another writer", "ms", float(probe.stdout.readline()) * 1000)


SCENARIO = Scenario("bulk", "One submission of very many jobs", cases)

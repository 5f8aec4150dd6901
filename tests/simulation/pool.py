"""Many histories in several processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

from tests.simulation.history import History, histories

# Enough to be worth a message between processes.
_PIECE = 50

# Of what is wrong in one piece, so many are told.
_AT_MOST = 2


class Report(NamedTuple):
    """What was wrong in some histories, and the kinds of events in all of them."""

    wrong: list[History]
    kinds: set[str]


def report(seeds: range, hints: bool = True) -> Report:
    """Live through some histories; stops after a few that are wrong."""
    found = Report([], set())
    for history in histories(seeds, hints):
        found.kinds.update(history.kinds)
        if history.problem:
            found.wrong.append(history)
        if len(found.wrong) == _AT_MOST:
            break
    return found


def executor(processes: int) -> ProcessPoolExecutor:
    """Processes to live in. They are not forked: whoever calls may have threads."""
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))


def spread(seeds: range, pool: ProcessPoolExecutor, hints: bool = True) -> Iterator[Report]:
    """Reports on all these seeds, piece by piece."""
    pieces = [seeds[start : start + _PIECE] for start in range(0, len(seeds), _PIECE)]
    yield from pool.map(partial(report, hints=hints), pieces)

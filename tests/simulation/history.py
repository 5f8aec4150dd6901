"""One history from a seed: random steps, then everything comes to its end; and many of them."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

from inturn.host import faults
from tests.simulation.faults import Killed, Violation
from tests.simulation.machine import Machine, make_template
from tests.simulation.settling import settle
from tests.simulation.steps import Steps

STEPS = 90


class History(NamedTuple):
    """What happened, line by line; what was wrong, empty if nothing was; and the kinds of its events.

    `hints`: whether any arrived; else every owner had to find out by its polls.
    """

    seed: int
    hints: bool
    problem: str
    lines: list[str]
    kinds: set[str]

    def __str__(self) -> str:
        told = "\n".join(self.lines)
        again = f"again: python -m tests.simulation --start {self.seed} --seeds 1"
        if not self.hints:
            again += " --no-hints"
        return f"{told}\n\nseed {self.seed}: {self.problem or 'nothing is wrong'}\n{again}"


def live(seed: int, directory: str, template: str, hints: bool = True) -> History:
    """The history of one seed, in a directory that does not exist yet."""
    machine = Machine(directory, template, Random(seed))
    problem = ""
    if not hints:
        faults.lose_hints()
    try:
        with machine.in_charge():
            steps = Steps(machine)
            steps.begin()
            for _ in range(machine.rng.randint(STEPS // 2, STEPS)):
                steps.random_step()
            settle(machine)
    except (Exception, Violation, Killed) as error:
        problem = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    finally:
        faults.disarm()
    return History(seed, hints, problem, machine.history, machine.kinds)


def histories(seeds: Iterable[int], hints: bool = True) -> Iterator[History]:
    """The histories of these seeds, with some hints or without any."""
    with tempfile.TemporaryDirectory(dir=_fast_directory()) as scratch:
        template = make_template(scratch)
        for seed in seeds:
            directory = os.path.join(scratch, str(seed))
            yield live(seed, directory, template, hints)
            shutil.rmtree(directory)


def _fast_directory() -> str | None:
    """Memory, if there is some: what a disk keeps of a loss of power is not the subject here."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

"""What every scenario module gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bench.place import Arena
from bench.records import Case
from bench.sizes import Sizes
from bench.tools.base import Tool


class Setting(NamedTuple):
    """What cases are made for: how much, with which neighbours, and where."""

    sizes: Sizes
    neighbours: Sequence[Tool]
    arena: Arena


class Scenario(NamedTuple):
    """A question. `title` heads its table, `cases` makes what answers it."""

    name: str
    title: str
    cases: Callable[[Setting], list[Case]]

"""inturn and its neighbours, all driven in the same way."""

from __future__ import annotations

from bench.tools.base import Tool
from bench.tools.huey import Huey
from bench.tools.inturn import Inturn
from bench.tools.nq import Nq
from bench.tools.spoolctl import Spoolctl
from bench.tools.tsp import TaskSpooler

NEIGHBOURS: tuple[Tool, ...] = (TaskSpooler(), Nq(), Huey(), Spoolctl())
INTURN = Inturn()


def installed() -> list[Tool]:
    """The neighbours that are there."""
    return [tool for tool in NEIGHBOURS if tool.version() is not None]

"""What several scenarios do before they measure: keep a tool busy until all is ready."""

from __future__ import annotations

from bench.bell import Bell, Gate
from bench.place import Place
from bench.tools.base import Tool


def stage(place: Place, tool: Tool) -> tuple[Bell, Gate]:
    """A bell and a gate for jobs of a tool, which is prepared."""
    bell = Bell(place)
    # Before the tool: what is seen to last is seen to first when the place is left.
    gate = Gate(place, bell)
    tool.prepare(place)
    return bell, gate


def occupy(place: Place, tool: Tool, bell: Bell, gate: Gate, workers: int = 1, places: int = 1) -> None:
    """Start workers, and give each of their places a job that stays until it is let go."""
    for _ in range(workers * places):
        tool.submit(place, gate.keeper)
    for _ in range(workers):
        tool.work(place, places)
    bell.hear(workers * places)

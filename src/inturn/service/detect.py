"""Proposing a pool of the graphics cards that this machine has. Nothing is changed."""

from __future__ import annotations

from inturn.core import gpus
from inturn.core.duration import quoted
from inturn.errors import InturnError
from inturn.host import nvidia

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.gpus import Card


def cards() -> list[Card]:
    """All that `nvidia-smi` reports, at least one. Raises InturnError `failed`."""
    table = nvidia.ask(gpus.QUERY)
    try:
        found = gpus.read_cards(table, _listing())
    except ValueError as line:
        raise InturnError(
            "failed",
            f"{nvidia.PROGRAM} has answered what was not expected: {quoted(str(line))}",
            f"See what it says: {nvidia.PROGRAM} {' '.join(gpus.QUERY)}",
        ) from None
    if not found:
        raise InturnError("failed", f"{nvidia.PROGRAM} reports no graphics card", "See: nvidia-smi -L")
    return found


def _listing() -> str:
    """The list with the instances of cards; an old driver that cannot tell them has none."""
    try:
        return nvidia.ask(gpus.LIST)
    except InturnError:
        return ""

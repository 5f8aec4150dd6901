"""What the ledger says: who was admitted when, and how many held slots at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tests.e2e.harness import Cli

ACTIVE = ("starting", "running", "stopping")


def events(cli: Cli) -> list[dict[str, Any]]:
    """All that was committed, in its order."""
    found: list[dict[str, Any]] = cli.run("events", "--json").check().data
    return found


def admitted(cli: Cli, among: Collection[int]) -> list[int]:
    """The jobs that got slots, in the order of the transactions that gave them."""
    return [event["job"] for event in events(cli) if event["kind"] == "admitted" and event["job"] in among]


def most_at_once(cli: Cli, among: Collection[int]) -> int:
    """How many of the jobs were active at the same time; none may have been paused."""
    active: set[int] = set()
    most = 0
    for event in events(cli):
        if event["job"] in among:
            assert event["to"] != "paused"
            if event["to"] in ACTIVE:
                active.add(event["job"])
            else:
                active.discard(event["job"])
        most = max(most, len(active))
    assert not active
    return most

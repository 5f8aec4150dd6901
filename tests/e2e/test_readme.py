"""Whoever copies the README's commands into a shell gets what it says."""

from __future__ import annotations

import pytest

from tests.e2e.harness import Cli
from tests.e2e.tour import follow
from tests.pages import README


@pytest.fixture
def tour(cli: Cli) -> str:
    """What the README's shell commands print, run one after the other in one shell."""
    return follow(README, cli)


def test_the_tour_runs_to_its_end_and_prints_an_id_for_each_submission(tour: str) -> None:
    assert tour.splitlines()[:5] == ["1", "2", "3", "4", "5"]


def test_the_shards_of_the_tour_found_what_they_were_to_find(tour: str, cli: Cli) -> None:
    assert "125500" in tour.splitlines()
    sums = [int(cli.run("logs", f"shard-{shard}").check().text) for shard in (1, 2, 3, 4)]
    assert sum(sums) == sum(range(1001))


def test_no_shard_of_the_tour_started_before_the_data_was_prepared(tour: str, cli: Cli) -> None:
    prepared = cli.show("prepare_data")["runs"][-1]["finished_at"]
    for shard in (1, 2, 3, 4):
        shown = cli.show(f"shard-{shard}")
        assert shown["outcome"] == "success"
        assert shown["runs"][0]["started_at"] >= prepared

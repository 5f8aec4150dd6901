from __future__ import annotations

import re
from pathlib import Path

import pytest

from inturn.config import load
from inturn.core.gpus import Card, devices, read_cards, yaml

GPUS = ["GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", "GPU-fcf41002-68b6-5900-d7d1-74026173bb44"]
PARTS = ["MIG-ffda444c-c706-57c6-98c9-67c441a0b109", "MIG-fe9bc608-60f5-5479-8cc4-1827021d27a9"]

TABLE = f"""\
0, {GPUS[0]}, NVIDIA A100-SXM4-40GB, 40960 MiB
1, {GPUS[1]}, NVIDIA A100-SXM4-40GB, 40960 MiB
"""
LISTING = f"""\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: {GPUS[0]})
  MIG 1g.5gb      Device  0: (UUID: {PARTS[0]})
  MIG 3g.20gb     Device  1: (UUID: {PARTS[1]})
GPU 1: NVIDIA A100-SXM4-40GB (UUID: {GPUS[1]})
"""


def test_a_card_is_read_with_its_memory_in_bytes() -> None:
    assert read_cards(TABLE, "")[1] == Card(1, GPUS[1], "NVIDIA A100-SXM4-40GB", 40960 * 2**20)


@pytest.mark.parametrize("memory", ["[N/A]", "[Insufficient Permissions]", "", "many MiB"])
def test_a_card_that_does_not_tell_its_memory_is_a_card(memory: str) -> None:
    (card,) = read_cards(f"0, {GPUS[0]}, NVIDIA GB10, {memory}", "")
    assert card.memory is None
    assert "MiB" not in yaml("gpu", [card])


def test_a_name_with_a_comma_is_one_name() -> None:
    assert read_cards(f"0, {GPUS[0]}, Titan, the second, 1 MiB", "")[0].name == "Titan, the second"


def test_no_line_is_no_card() -> None:
    assert read_cards("\n", "No devices were found\n") == []


@pytest.mark.parametrize("line", ["No devices were found", f"x, {GPUS[0]}, A, 1 MiB", "0, 7, A, 1 MiB", "0"])
def test_what_is_no_card_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)):
        read_cards(line, "")


def test_cards_that_are_alike_are_called_by_their_numbers() -> None:
    assert devices(read_cards(TABLE, "")) == ["0", "1"]


def test_cards_of_several_kinds_are_called_by_what_does_not_depend_on_who_counts() -> None:
    assert devices(read_cards(TABLE.replace("A100", "T4", 1), "")) == GPUS


def test_instances_of_a_card_take_its_place() -> None:
    cards = read_cards(TABLE, LISTING)
    assert cards[0].parts == ((PARTS[0], "1g.5gb"), (PARTS[1], "3g.20gb"))
    assert devices(cards) == [*PARTS, GPUS[1]]


@pytest.mark.parametrize("name", ["gpu", "1", "no", "g.1-x", "0x10"])
@pytest.mark.parametrize("listing", ["", LISTING])
def test_what_is_proposed_is_a_configuration_with_this_pool(tmp_path: Path, name: str, listing: str) -> None:
    cards = read_cards(TABLE.replace("A100", "A100 # [red]\x1b", 1), listing)
    path = tmp_path / "inturn.yml"
    path.write_text(yaml(name, cards) + "\n")
    (pool,) = load(str(path)).pools
    assert (pool.name, pool.devices, pool.per_device) == (name, tuple(devices(cards)), 1)
    assert pool.slots == len(pool.devices)

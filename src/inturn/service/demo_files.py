"""What the demonstration writes: its configuration, and the programs of its pipeline."""

from __future__ import annotations

CONFIGURATION = """\
schema_version: 1
concurrency:
  max_active_slots: 4
  pools:
    analysis: 2
"""

PREPARE = '''\
"""Write 20,000 numbers to data.csv, always the same ones; it takes a second, as if they came from afar."""

import os
import time

COUNT = 20_000
PAUSES = 10


def numbers():
    value = 1
    for _ in range(COUNT):
        value = value * 48_271 % (2**31 - 1)
        yield value % 1_000


with open("data.csv.part", "w") as file:
    print("number", file=file)
    for index, number in enumerate(numbers()):
        if index % (COUNT // PAUSES) == 0:
            time.sleep(1 / PAUSES)
        print(number, file=file)
os.replace("data.csv.part", "data.csv")
print(f"data.csv holds {COUNT} numbers")
'''

ANALYZE = '''\
"""Add up one quarter of data.csv and write the result to result-N.json.

The third shard fails at its first attempt, and leaves a file behind by which the second one knows.
"""

import argparse
import json
import sys
import time

SHARDS = 4
FLAKY = 3

parser = argparse.ArgumentParser()
parser.add_argument("--shard", type=int, choices=range(1, SHARDS + 1), required=True)
shard = parser.parse_args().shard


def is_first_attempt():
    try:
        open(f"shard-{shard}.has-failed", "x").close()
    except FileExistsError:
        return False
    return True


with open("data.csv") as file:
    numbers = [int(line) for line in file.readlines()[1:]]
quarter = len(numbers) // SHARDS
mine = numbers[(shard - 1) * quarter : shard * quarter]
time.sleep(0.4)
if shard == FLAKY and is_first_attempt():
    sys.exit(f"shard {shard} has bad luck")
time.sleep(0.4)
result = {"shard": shard, "count": len(mine), "sum": sum(mine)}
with open(f"result-{shard}.json", "w") as file:
    json.dump(result, file)
print(f"the {len(mine)} numbers of shard {shard} add up to {sum(mine)}")
'''

FILES = {"inturn.yml": CONFIGURATION, "prepare_data.py": PREPARE, "analyze_data.py": ANALYZE}

"""A ceiling holds for the whole fleet: eight workers, two queues, never more than three at once in either."""

from __future__ import annotations

import json
from collections import Counter

from tests.e2e.harness import Cli
from tests.e2e.ledger import admitted, most_at_once

WORKERS = 8
CEILING = 3
QUEUES = ("red", "blue")
JOBS = 1000  # a queue's
EVERY = 10  # so many bear witness themselves

# Takes one of CEILING places, made by nobody else; says so if there is none, and who was there in any case.
WITNESS = f"""\
for place in $(seq {CEILING}); do
    if mkdir $INTURN_QUEUE.$place 2>/dev/null; then
        echo $INTURN_JOB_ID >>ran
        rmdir $INTURN_QUEUE.$place
        exit 0
    fi
done
echo $INTURN_JOB_ID >>clashes
exit 1
"""


def submit(cli: Cli) -> dict[str, list[int]]:
    """Submit the jobs of both queues in one file, alternating; returns their ids by queue."""
    lines = [
        json.dumps({"queue": queue, "command": ["sh", "-c", WITNESS] if number % EVERY == 0 else ["true"]})
        for number in range(JOBS)
        for queue in QUEUES
    ]
    ids = cli.run("add", "--from-file", "-", input="\n".join(lines)).ids
    return {queue: ids[place :: len(QUEUES)] for place, queue in enumerate(QUEUES)}


def test_a_ceiling_holds_over_all_workers_and_no_job_is_lost_or_run_twice(cli: Cli) -> None:
    lanes = submit(cli)
    serve = [word for queue in QUEUES for word in ("--queue", queue)]
    workers = [
        cli.popen("work", *serve, "--slots", CEILING, "-j", 1 + number % 3, "--drain")
        for number in range(WORKERS)
    ]
    told = [worker.communicate(timeout=240) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * WORKERS, told
    assert set(told) == {(b"", b"")}

    assert not (cli.root / "clashes").exists()
    everyone = [job for ids in lanes.values() for job in ids]
    assert Counter(admitted(cli, everyone)) == Counter(everyone)
    totals = cli.run("status", "--json").check().data
    assert (totals["success"], totals["queued"], totals["running"]) == (len(everyone), 0, 0)
    witnesses = [job for ids in lanes.values() for job in ids[::EVERY]]
    assert sorted(map(int, (cli.root / "ran").read_text().split())) == sorted(witnesses)
    for ids in lanes.values():
        assert most_at_once(cli, ids) == CEILING

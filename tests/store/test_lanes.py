"""Whether a queue is settled, told from a real store: who is in it, and what its jobs wait for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from inturn.core.held import Lane
from inturn.core.job import Job
from inturn.core.moment import SECOND
from inturn.core.transitions import Event
from inturn.store import held, lanes, owners
from inturn.store.db import Store
from tests.builders import (
    START,
    add_job,
    add_owner,
    admit,
    at,
    commit,
    ended,
    finish,
    later,
    make_condition,
    make_run,
    make_submission,
    running,
    supervised,
)

Make = Callable[[Store, str], Job]

_numbers = count()


def worker(store: Store, *queues: str) -> int:
    """A live worker of these queues."""
    me = add_owner(store, f"worker-{next(_numbers)}", "worker")
    owners.serve(store, me, dict.fromkeys(queues), 1)
    return me


def eligible(store: Store, queue: str) -> Job:
    return add_job(store, make_submission(queue=queue))


def delayed(store: Store, queue: str) -> Job:
    return add_job(store, make_submission(queue=queue, delay=60 * SECOND, priority=9))


def starting(store: Store, queue: str) -> Job:
    return admit(store, eligible(store, queue), worker(store))


def active(store: Store, queue: str) -> Job:
    job = starting(store, queue)
    run = running(make_run(job))
    return commit(store, job, Event("started", "running", run=run), START, job.owner).after


def stopping(store: Store, queue: str) -> Job:
    return commit(store, active(store, queue), Event("stop_requested", "stopping", "cancelled")).after


def halted(store: Store, queue: str) -> Job:
    return commit(store, active(store, queue), Event("paused", "paused")).after


def backoff(store: Store, queue: str) -> Job:
    job = active(store, queue)
    run = ended(running(make_run(job)), "failure", exit_code=1)
    event = Event("repeated", "queued", "failure", due=at(later(60 * SECOND)), run=run)
    return commit(store, job, event, START, job.owner).after


def before_its_first_run(store: Store, queue: str) -> Job:
    return commit(store, eligible(store, queue), Event("paused", "paused")).after


def at_its_gates(store: Store, queue: str) -> Job:
    return commit(store, for_a_file(store, queue), Event("paused", "paused")).after


def for_a_file(store: Store, queue: str) -> Job:
    return add_job(store, make_submission(queue=queue), conditions=(make_condition("file"),))


def for_a_probe(store: Store, queue: str) -> Job:
    return add_job(store, make_submission(queue=queue), conditions=(make_condition("probe"),))


def over(store: Store, queue: str) -> Job:
    return finish(store, starting(store, queue))


ALL: tuple[tuple[Make, bool], ...] = (
    (starting, True),
    (active, True),
    (stopping, True),
    (halted, True),
    (eligible, True),
    (backoff, True),
    (delayed, False),
    (before_its_first_run, False),
    (at_its_gates, False),
    (for_a_file, False),
    (for_a_probe, False),
    (over, False),
)


def test_an_empty_queue_is_settled(store: Store) -> None:
    with store.writing():
        assert lanes.is_settled(store, ["q"])


@pytest.mark.parametrize(("make", "holds"), ALL, ids=[make.__name__ for make, _ in ALL])
def test_a_job_holds_its_queue_open_and_no_other(store: Store, make: Make, holds: bool) -> None:
    with store.writing():
        make(store, "q")
        assert lanes.is_settled(store, ["q"]) == (not holds)
        assert lanes.is_settled(store, ["another", "q"]) == (not holds)
        assert lanes.is_settled(store, ["another"])


def test_a_supervised_job_is_in_no_queue(store: Store) -> None:
    with store.writing():
        supervised(store)
        assert lanes.is_settled(store, ["q", "default"])


@pytest.mark.parametrize("lane", [Lane("queue", "q"), Lane("pool", "gpu")], ids=["queue", "pool"])
@pytest.mark.parametrize("make", [eligible, backoff], ids=["eligible", "backoff"])
def test_what_stands_in_a_paused_lane_holds_nothing_open(store: Store, lane: Lane, make: Make) -> None:
    with store.writing():
        job = make(store, "q")
        store.execute("UPDATE jobs SET pool = 'gpu' WHERE id = ?", (job.id,))
        assert not lanes.is_settled(store, ["q"])
        held.hold(store, lane, START)
        assert lanes.is_settled(store, ["q"])
        active(store, "q")
        assert not lanes.is_settled(store, ["q"])


# What a job may wait for, in a queue of its own that is served or not; and whether it goes somewhere then.
PARENTS: tuple[tuple[Make, bool, bool], ...] = (
    (over, True, True),
    (active, True, True),
    (stopping, True, True),
    (halted, True, True),
    (backoff, True, True),
    (eligible, True, False),
    (delayed, False, False),
    (before_its_first_run, False, False),
    (at_its_gates, False, False),
    (for_a_file, False, False),
    (for_a_probe, False, False),
)


@pytest.mark.parametrize("is_served", [True, False], ids=["served", "unserved"])
@pytest.mark.parametrize(("make", "if_served", "if_not"), PARENTS, ids=[each[0].__name__ for each in PARENTS])
def test_a_job_that_waits_holds_its_queue_open_while_the_other_goes_somewhere(
    store: Store, make: Make, if_served: bool, if_not: bool, is_served: bool
) -> None:
    with store.writing():
        if is_served:
            worker(store, "parents")
        waiting_for(store, make(store, "parents"))
        assert lanes.is_settled(store, ["q"]) == (not (if_served if is_served else if_not))


def waiting_for(store: Store, *parents: Job, queue: str = "q") -> Job:
    return add_job(store, make_submission(queue=queue), edges={one.id: ("success",) for one in parents})


def test_a_supervised_parent_goes_somewhere_as_long_as_its_supervisor_lives(store: Store) -> None:
    with store.writing():
        parent, supervisor = supervised(store)
        waiting_for(store, parent)
        assert not lanes.is_settled(store, ["q"])
        owners.bury(store, supervisor, START)
        assert lanes.is_settled(store, ["q"])
        assert owners.hand_over(store, parent, add_owner(store, "heir"))
        assert not lanes.is_settled(store, ["q"])


def test_a_supervised_parent_that_waits_itself_goes_somewhere_too(store: Store) -> None:
    with store.writing():
        me = add_owner(store, "mine")
        parent = add_job(store, make_submission(), me, conditions=(make_condition(),))
        waiting_for(store, parent)
        assert not lanes.is_settled(store, ["q"])


@pytest.mark.parametrize("leave", [owners.stop_accepting, owners.retire], ids=["claims no more", "gone"])
def test_a_worker_that_claims_no_more_serves_no_queue(
    store: Store, leave: Callable[[Store, int], None]
) -> None:
    with store.writing():
        me = worker(store, "parents")
        waiting_for(store, eligible(store, "parents"))
        assert lanes.served(store) == {"parents"}
        assert not lanes.is_settled(store, ["q"])
        leave(store, me)
        assert lanes.served(store) == set()
        assert lanes.is_settled(store, ["q"])


def test_a_worker_that_is_proven_dead_serves_no_queue(store: Store) -> None:
    with store.writing():
        owners.bury(store, worker(store, "parents"), START)
        assert lanes.served(store) == set()


def test_what_was_seen_of_a_parent_is_not_waited_for_again(store: Store) -> None:
    with store.writing():
        parent, stuck = active(store, "parents"), delayed(store, "parents")
        waiting_for(store, parent, stuck)
        assert not lanes.is_settled(store, ["q"])
        finish(store, parent)
        assert lanes.is_settled(store, ["q"])


def test_a_chain_is_followed_through_queues_that_are_served(store: Store) -> None:
    with store.writing():
        first = active(store, "far")
        second = waiting_for(store, first, queue="middle")
        waiting_for(store, second)
        assert lanes.is_settled(store, ["q"])
        worker(store, "middle")
        assert not lanes.is_settled(store, ["q"])


def test_a_chain_of_thousands_is_followed_to_its_end(store: Store) -> None:
    with store.writing():
        worker(store, "q")
        last = delayed(store, "far")
        for _ in range(3000):
            last = waiting_for(store, last)
        assert lanes.is_settled(store, ["q"])


def steps(store: Store) -> int:
    """How many steps of SQLite's machine it takes to tell that the queue q is not settled, or is."""
    taken = 0

    def tick() -> bool:
        nonlocal taken
        taken += 1
        return False

    store.connection.set_progress_handler(tick, 1)
    try:
        lanes.is_settled(store, ["q"])
    finally:
        store.connection.set_progress_handler(None)
    return taken


@pytest.mark.parametrize("make", [delayed, over, for_a_file], ids=["delayed", "ended", "waiting for files"])
def test_jobs_that_hold_nothing_open_cost_nothing_to_pass_over(store: Store, make: Make) -> None:
    with store.writing():
        make(store, "q")
        few = steps(store)
        for _ in range(200):
            make(store, "q")
        # Those that wait are passed one by one, each with a look at its edges.
        assert steps(store) <= few + (200 * 20 if make is for_a_file else 0)


def test_of_many_that_wait_for_one_that_runs_only_the_first_is_looked_at(store: Store) -> None:
    with store.writing():
        parent = active(store, "parents")
        waiting_for(store, parent)
        few = steps(store)
        for _ in range(200):
            waiting_for(store, parent)
        assert steps(store) <= few

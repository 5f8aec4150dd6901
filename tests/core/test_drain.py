"""When a draining worker may stop: each combination of facts, and the sentence that says what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.drain import Candidate, settled
from inturn.core.job import ACTIVE, PHASES

ANY = "any"


class Rule(NamedTuple):
    """A sentence, what it speaks of, and whether the drain is held open then. A tuple means: any of these."""

    sentence: str
    holds: bool
    phase: Any
    held_phase: Any = ANY
    attempts: Any = ANY
    due: Any = ANY
    lane_paused: Any = ANY
    supervised: Any = ANY
    served: Any = ANY

    def speaks_of(self, job: Candidate) -> bool:
        facts = (
            *(job.phase, job.held_phase, job.attempts, job.due),
            *(job.held, job.supervised, job.served),
        )
        return all(
            wanted == ANY or (fact in wanted if isinstance(wanted, tuple) else fact == wanted)
            for wanted, fact in zip(self[2:], facts, strict=True)
        )


# A queued job as such. Those in quotation marks are the document's.
JOBS = (
    Rule("“Running jobs hold drain open.”", True, ACTIVE),
    Rule("One that is halted with its process has one: it is running.", True, "paused", ACTIVE),
    Rule(
        "“Queued jobs that are currently eligible hold drain open.”",
        True,
        "queued",
        due=True,
        lane_paused=False,
    ),
    Rule(
        "“Queued retry/reap backoff rows (attempts > 0, future next_run_at) hold drain open.”",
        True,
        "queued",
        attempts=1,
        due=False,
        lane_paused=False,
    ),
    Rule(
        "“Queued user-delayed rows (attempts = 0, future next_run_at) do not hold drain open.”",
        False,
        "queued",
        attempts=0,
        due=False,
        lane_paused=False,
    ),
    Rule("Jobs held without a process do not.", False, "paused", ("waiting", "queued")),
    Rule("What stands in a queue or pool that is paused is held.", False, "queued", lane_paused=True),
    Rule("Jobs that wait for a file or a probe do not.", False, "waiting"),
    Rule("What has ended is no business of a worker.", False, "completed"),
)

# A job that another one waits for.
PARENTS = (
    Rule("It is completed, and the one that waits has not been looked at yet.", True, "completed"),
    Rule("It is active.", True, ACTIVE),
    Rule("It is active: halted with its process.", True, "paused", ACTIVE),
    Rule("It is held without a process: going nowhere.", False, "paused", ("waiting", "queued")),
    Rule(
        "Its queue or pool is paused: going nowhere.",
        False,
        ("submitting", "waiting", "queued"),
        lane_paused=True,
    ),
    Rule(
        "It is supervised and alive.",
        True,
        ("submitting", "waiting", "queued"),
        lane_paused=False,
        supervised=True,
        served=True,
    ),
    Rule(
        "Its supervisor is dead, and nobody has taken over yet.",
        False,
        ("submitting", "waiting", "queued"),
        lane_paused=False,
        supervised=True,
        served=False,
    ),
    Rule(
        "It is in backoff.",
        True,
        "queued",
        attempts=1,
        due=False,
        lane_paused=False,
        supervised=False,
    ),
    Rule(
        "It is eligible in a queue that a live worker serves.",
        True,
        "queued",
        due=True,
        lane_paused=False,
        supervised=False,
        served=True,
    ),
    Rule(
        "It is eligible, but nobody serves its queue.",
        False,
        "queued",
        due=True,
        lane_paused=False,
        supervised=False,
        served=False,
    ),
    Rule(
        "It is delayed by its user, whoever serves its queue.",
        False,
        "queued",
        attempts=0,
        due=False,
        lane_paused=False,
        supervised=False,
    ),
    Rule(
        "It waits for a file or a probe itself.",
        False,
        "waiting",
        lane_paused=False,
        supervised=False,
    ),
)


def _combinations(supervised: Iterable[bool]) -> Iterator[Candidate]:
    """Every combination of facts that a store can hold: job 1, without parents."""
    for phase, attempts, due, paused, alone, served in product(
        PHASES, (0, 1), (False, True), (False, True), supervised, (False, True)
    ):
        if phase == "submitting" and not alone:
            continue  # A queued job is submitted as soon as it is stored.
        held_phases = ("waiting", "queued", *ACTIVE) if phase == "paused" else (None,)
        for held_phase in held_phases:
            yield Candidate(1, phase, held_phase, attempts, due, alone, served, (), paused)


def _rule(rules: tuple[Rule, ...], job: Candidate) -> Rule:
    """The one rule that speaks of a job."""
    (found,) = (rule for rule in rules if rule.speaks_of(job))
    return found


def _no_lookup(job_id: int) -> Candidate:
    raise AssertionError(f"job {job_id} is nobody's parent")


def test_every_queued_job_holds_the_drain_open_or_not_as_its_sentence_says() -> None:
    told = Counter[Rule]()
    for job in _combinations(supervised=(False,)):
        rule = _rule(JOBS, job)
        assert settled([job], _no_lookup) == (not rule.holds), (rule.sentence, job)
        told[rule] += 1
    assert set(told) == set(JOBS)


def test_a_waiting_job_holds_the_drain_open_if_the_one_it_waits_for_goes_somewhere() -> None:
    told = Counter[Rule]()
    for parent in _combinations(supervised=(False, True)):
        rule = _rule(PARENTS, parent)
        assert settled([_waiting(2, 1)], {1: parent}.__getitem__) == (not rule.holds), (rule.sentence, parent)
        told[rule] += 1
    assert set(told) == set(PARENTS)


def _queued(job_id: int, due: bool = True, served: bool = True, attempts: int = 0) -> Candidate:
    return Candidate(job_id, "queued", None, attempts, due, False, served)


def _waiting(job_id: int, *parents: int, served: bool = True) -> Candidate:
    return Candidate(job_id, "waiting", None, 0, False, False, served, parents)


def _running(job_id: int) -> Candidate:
    return Candidate(job_id, "running", None, 1, False, False, True)


def _graph(*jobs: Candidate) -> Mapping[int, Candidate]:
    return {job.id: job for job in jobs}


def test_an_empty_queue_is_settled() -> None:
    assert settled([], _no_lookup)


def test_one_job_that_holds_it_open_is_enough() -> None:
    delayed = [_queued(number, due=False) for number in range(3)]
    assert settled(delayed, _no_lookup)
    assert not settled([*delayed, _queued(9)], _no_lookup)


def test_a_job_need_not_wait_for_all_that_it_waits_for_to_go_somewhere() -> None:
    jobs = _graph(_queued(1, due=False), _running(2), _waiting(3, 1, 2))
    assert not settled([jobs[3]], jobs.__getitem__)


@pytest.mark.parametrize(
    ("end", "holds"),
    [(_running(1), True), (_queued(1), True), (_queued(1, due=False), False), (_waiting(1), False)],
    ids=["running", "eligible", "delayed by its user", "waiting for a file"],
)
def test_so_it_goes_on_down_the_graph(end: Candidate, holds: bool) -> None:
    jobs = _graph(end, _waiting(2, 1), _waiting(3, 2), _waiting(4, 3))
    assert settled([jobs[4]], jobs.__getitem__) == (not holds)


def test_what_waits_in_a_queue_that_nobody_serves_is_going_nowhere_whatever_it_waits_for() -> None:
    jobs = _graph(_running(1), _waiting(2, 1, served=False), _waiting(3, 2))
    assert settled([jobs[3]], jobs.__getitem__)


def test_a_chain_of_a_hundred_thousand_jobs_is_walked_once_and_not_by_recursion() -> None:
    length = 100_000
    chain = [_waiting(number, number - 1) for number in range(2, length)]
    jobs = _graph(_queued(1, due=False), *chain)
    looked_up = Counter[int]()

    def lookup(job_id: int) -> Candidate:
        looked_up[job_id] += 1
        return jobs[job_id]

    assert settled(chain, lookup)
    assert set(looked_up.values()) == {1}


def test_nobody_is_looked_at_after_the_first_that_holds_it_open() -> None:
    def jobs() -> Iterator[Candidate]:
        yield _running(1)
        raise AssertionError("it was known already")

    assert not settled(jobs(), _no_lookup)


def test_a_circle_which_no_store_accepts_would_come_to_an_end() -> None:
    jobs = _graph(_waiting(1, 2), _waiting(2, 1))
    assert settled([jobs[1]], jobs.__getitem__)


@st.composite
def _graphs(draw: st.DrawFn) -> list[Candidate]:
    """Jobs that wait for earlier ones, or are anything else."""
    jobs = []
    for number in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(list(_combinations(supervised=(False, True)))))
        parents = draw(st.sets(st.integers(0, number - 1))) if number else ()
        jobs.append(kind._replace(id=number, parents=tuple(parents) if kind.phase == "waiting" else ()))
    return jobs


@given(_graphs())
def test_any_graph_is_judged_as_the_definition_says(graph: list[Candidate]) -> None:
    def goes_somewhere(job: Candidate) -> bool:
        """The definition, by recursion."""
        if _rule(PARENTS, job).holds:
            return True
        passable = job.phase == "waiting" and job.served and not job.held and not job.supervised
        return passable and any(goes_somewhere(graph[parent]) for parent in job.parents)

    def holds_open(job: Candidate) -> bool:
        return _rule(JOBS, job).holds or (
            job.phase == "waiting" and any(goes_somewhere(graph[parent]) for parent in job.parents)
        )

    lane = [job for job in graph if not job.supervised]
    assert settled(lane, graph.__getitem__) == (not any(map(holds_open, lane)))

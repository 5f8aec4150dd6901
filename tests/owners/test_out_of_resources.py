"""What becomes of jobs that their owner cannot start, because it has not what that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inturn.core.moment import HOUR, MINUTE, SECOND, Now
from inturn.core.retry import Policy
from inturn.engines.base import Launch, OutOfResources
from inturn.engines.local import LocalEngine
from inturn.engines.process import LocalRun
from inturn.host import clock
from tests.builders import later
from tests.e2e.harness import until
from tests.owners.life import Clock, Life
from tests.owners.test_worker_alone import Workshop

# Runs until there is a file that has the number of its job.
AWAITED = 'until [ -e "go.$INTURN_JOB_ID" ]; do sleep 0.01; done; echo "$INTURN_JOB_ID" >> ran'

# So many rounds of an owner in which it could do anything again and again.
MANY = 8


class Narrow(LocalEngine):
    """The local engine, of which so many starts are left until there is more to start with."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def start(self, launch: Launch) -> LocalRun:
        if not self.left:
            raise OutOfResources("there were no processes")
        self.left -= 1
        return super().start(launch)


class Still(Clock):
    """Clocks that stand still unless they are put forward."""

    def __init__(self) -> None:
        super().__init__()
        self._first = clock.now()

    def __call__(self) -> Now:
        return later(self.ahead, self._first)


# --- a supervisor


def lack(life: Life, first: Callable[[], None] = lambda: None) -> None:
    """From now on nothing can be started; `first` happens before that shows."""

    def refuse() -> None:
        first()
        raise OutOfResources("there were no processes")

    life.engine.before = refuse


def test_it_tries_again_ever_later_and_nothing_is_charged(begin: Callable[..., Life]) -> None:
    life = begin()
    place = life.job.due.wall
    lack(life)
    for number, pause in enumerate((1, 2, 4, 8), start=1):
        life.turn_until(lambda number=number: life.job.runs == number, f"run {number}")  # type: ignore[misc]
        life.turn_until(lambda: life.job.phase == "queued", "the line")
        assert 0 < life.job.due.remaining(life.clock()) <= pause * SECOND
        assert (life.job.attempts, life.job.failures, life.slots) == (0, 0, 0)
        assert life.job.due.wall == place
        life.clock.ahead += pause * SECOND - SECOND // 2
        for _ in range(MANY):
            life.owner.turn()
            if life.job.due.reached(life.clock()):
                break
            assert life.job.runs == number
        life.clock.ahead += SECOND
    life.engine.before = lambda: None
    job = life.live()
    assert (job.outcome, job.attempts, job.failures) == ("success", 1, 0)
    assert life.wrote("ran") == ["ran"]
    *lacking, last = life.runs
    assert {(run.outcome, run.failure, run.diagnostic) for run in lacking} == {
        ("cancelled", "out_of_resources", "there were no processes")
    }
    assert (last.outcome, last.attempt) == ("success", 1)


def test_after_a_run_that_could_be_started_the_pause_is_short_again(begin: Callable[..., Life]) -> None:
    life = begin("exit 1", Policy(run_limit=2, failure_limit=2, delay=HOUR))
    lack(life)
    for _ in range(3):
        life.turn_until(lambda: life.job.status == "scheduled", "a pause")
        life.clock.ahead += MINUTE
    life.engine.before = lambda: None
    life.turn_until(lambda: life.job.status == "backoff", "backoff")
    lack(life)
    life.clock.ahead += HOUR
    life.turn_until(lambda: life.runs[-1].failure is not None, "that it lacks something again")
    assert 0 < life.job.due.remaining(life.clock()) <= SECOND
    assert life.job.attempts == 1


def test_a_cancellation_that_came_meanwhile_wins(begin: Callable[..., Life]) -> None:
    life = begin()
    lack(life, life.cancel)
    assert life.live().outcome == "cancelled"
    assert life.slots == 0


def test_a_job_whose_time_is_over_while_it_is_put_off_has_timed_out(begin: Callable[..., Life]) -> None:
    life = begin(job_timeout=MINUTE)
    lack(life)
    life.turn_until(lambda: life.job.runs == 1 and life.job.phase == "queued", "a pause")
    life.clock.ahead += 2 * MINUTE
    assert life.live().outcome == "timed_out"


# --- a worker


@pytest.fixture
def open_workshop(tmp_path: Path) -> Iterator[Callable[..., Workshop]]:
    made: list[Workshop] = []

    def make(left: int, **orders: Any) -> Workshop:
        made.append(Workshop(tmp_path, engine=Narrow(left), clocks=Still(), **orders))
        return made[0]

    yield make
    for workshop in made:
        workshop.worker.ask_to_stop()
        for job in workshop.other.execute("SELECT id FROM jobs"):
            (workshop.root / f"go.{job[0]}").touch()
        while not workshop.worker.finished():
            workshop.clock.ahead += SECOND
            workshop.worker.turn()
        workshop.close()


def engine_of(workshop: Workshop) -> Narrow:
    engine = workshop.worker._tools.engine
    assert isinstance(engine, Narrow)
    return engine


def runs(workshop: Workshop) -> int:
    """How many runs there have ever been, of all jobs."""
    return int(workshop.other.row("SELECT count(*) FROM runs")[0])


def live(workshop: Workshop) -> int:
    return sum(task.live for task in workshop.worker.tasks)


def turn(workshop: Workshop, times: int = MANY) -> None:
    for _ in range(times):
        workshop.worker.turn()


def places(workshop: Workshop) -> int:
    """How many places it has said to have."""
    return int(workshop.other.row("SELECT places FROM owners")[0])


def test_it_runs_as_many_as_it_can_and_claims_no_more_until_there_is_reason_to(
    open_workshop: Callable[..., Workshop],
) -> None:
    workshop = open_workshop(2, places=5)
    jobs = [workshop.add(AWAITED) for _ in range(9)]
    turn(workshop)
    assert (live(workshop), runs(workshop), places(workshop)) == (2, 5, 2)
    assert [workshop.job(job.id).attempts for job in jobs] == [1, 1, *[0] * 7]
    assert {workshop.job(job.id).phase for job in jobs[2:]} == {"queued"}


def test_a_run_that_has_ended_is_replaced_while_no_more_than_that_can_be_started(
    open_workshop: Callable[..., Workshop],
) -> None:
    workshop = open_workshop(2, places=5)
    jobs = [workshop.add(AWAITED) for _ in range(9)]
    turn(workshop)
    engine_of(workshop).left = 1
    before = runs(workshop)
    (workshop.root / f"go.{jobs[0].id}").touch()
    assert workshop.work_until_ended(jobs[0].id).outcome == "success"
    turn(workshop)
    assert (live(workshop), engine_of(workshop).left) == (2, 0)
    assert runs(workshop) == before + 1


def test_from_time_to_time_it_tries_one_more_ever_later_as_long_as_that_fails(
    open_workshop: Callable[..., Workshop],
) -> None:
    workshop = open_workshop(1, places=5)
    for _ in range(30):
        workshop.add(AWAITED)
    turn(workshop, 3)
    before = runs(workshop)
    for number, pause in enumerate((1, 2, 4, 8, 16)):
        workshop.clock.ahead += pause * SECOND - 1
        turn(workshop, 3)
        assert runs(workshop) == before + number
        workshop.clock.ahead += 1
        turn(workshop, 3)
        assert runs(workshop) == before + number + 1


def test_it_fills_its_places_again_when_it_has_what_that_takes(
    open_workshop: Callable[..., Workshop],
) -> None:
    workshop = open_workshop(1, places=4)
    for _ in range(6):
        workshop.add(AWAITED)
    turn(workshop, 3)
    assert live(workshop) == 1
    engine_of(workshop).left = 10

    def filled() -> bool:
        workshop.clock.ahead += SECOND
        workshop.worker.turn()
        return live(workshop) == 4

    until(filled, "four runs")
    turn(workshop, 3)
    assert places(workshop) == 4


def work_to_its_end(workshop: Workshop) -> None:
    def finished() -> bool:
        workshop.clock.ahead += SECOND
        workshop.worker.turn()
        return workshop.worker.finished()

    until(finished, "the end of the worker")


def test_a_drain_waits_for_the_jobs_that_it_could_not_start(
    open_workshop: Callable[..., Workshop],
) -> None:
    workshop = open_workshop(0, places=5)
    jobs = [workshop.add("echo >> ran") for _ in range(3)]
    by_its_user = workshop.add("echo >> ran", delay=HOUR)
    turn(workshop)
    assert not workshop.worker.finished()
    engine_of(workshop).left = 10
    work_to_its_end(workshop)
    assert {workshop.job(job.id).outcome for job in jobs} == {"success"}
    assert (workshop.root / "ran").read_text() == "\n" * 3
    assert workshop.job(by_its_user.id).phase == "queued"


def test_a_worker_for_one_job_tries_again_until_it_has_run_one(
    open_workshop: Callable[..., Workshop],
) -> None:
    workshop = open_workshop(0, drain=False, once=True)
    jobs = [workshop.add("echo >> ran") for _ in range(3)]
    turn(workshop)
    assert not workshop.worker.finished()
    engine_of(workshop).left = 10
    work_to_its_end(workshop)
    assert (workshop.root / "ran").read_text() == "\n"
    assert sorted(str(workshop.job(job.id).outcome) for job in jobs) == ["None", "None", "success"]


def test_when_it_is_to_stop_it_leaves_what_it_could_not_start_in_line(
    open_workshop: Callable[..., Workshop],
) -> None:
    workshop = open_workshop(0, places=2)
    job = workshop.add()
    turn(workshop, 3)
    workshop.worker.ask_to_stop()
    until(lambda: workshop.worker.turn() or workshop.worker.finished(), "the end of the worker")
    assert workshop.other.row("SELECT accepting FROM owners") == (0,)
    assert (workshop.job(job.id).phase, workshop.job(job.id).attempts) == ("queued", 0)

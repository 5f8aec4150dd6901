from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from inturn.core.transitions import Event
from inturn.errors import InturnError
from inturn.service import control, follow
from inturn.service.output import Wanted
from tests.e2e.harness import until
from tests.service.scene import Scene
from tests.tapped import tapped

LAST_RUN = Wanted()


class Follower:
    """Somebody who follows a job in the way of another process, and reads what comes."""

    def __init__(self, scene: Scene, job_id: int, wanted: Wanted = LAST_RUN) -> None:
        self.reader, self._out = os.pipe()
        os.set_blocking(self.reader, False)
        self.seen = b""
        self.notices: list[str] = []
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._follow, args=(scene, job_id, wanted), daemon=True)
        self._thread.start()

    def _follow(self, scene: Scene, job_id: int, wanted: Wanted) -> None:
        there = Scene(scene.directory)
        try:
            follow.follow(there.context, job_id, wanted, self._out)
        except (InturnError, OSError) as error:
            self.error = error
        finally:
            self.notices = there.notices
            there.close()
            os.close(self._out)

    def reads(self, expected: bytes) -> None:
        """Wait for this, after what was read before."""

        def there() -> bool:
            try:
                self.seen += os.read(self.reader, 65536)
            except BlockingIOError:
                pass
            return len(self.seen) >= len(expected)

        until(there, f"{expected!r} to be followed")
        assert self.seen == expected
        self.seen = b""

    def ends(self) -> bytes:
        """Wait for the end; the rest that was written."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        with open(self.reader, "rb") as file:
            self.reader = -1
            return self.seen + (file.read() or b"")

    def close(self) -> None:
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1
        self._thread.join(60)


@pytest.fixture
def followers() -> Iterator[list[Follower]]:
    followers: list[Follower] = []
    yield followers
    for follower in followers:
        follower.close()


def test_output_is_shown_as_it_comes_until_the_job_ends(scene: Scene, followers: list[Follower]) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    writer.write(b"before\n")
    followers += [follower := Follower(scene, job_id)]
    follower.reads(b"before\n")
    writer.write_unseen(b"abc\377\0")
    follower.reads(b"abc\377\0")
    writer.write(b"", b"def\n")
    follower.reads(b"def\n")
    writer.write_unseen(b"last")
    writer.close()
    scene.end(job_id)
    assert follower.ends() == b"last"
    assert (follower.error, follower.notices) == (None, [])


def test_it_begins_before_the_first_run_and_goes_on_across_retries(
    scene: Scene, followers: list[Follower]
) -> None:
    job_id = scene.submit(gated=True)
    followers += [follower := Follower(scene, job_id)]
    scene.happen(job_id, Event("gates_opened", "queued"))
    for text in (b"first\n", b"second\n"):
        writer = scene.start(job_id)
        writer.write(text)
        follower.reads(text)
        writer.close()
        scene.end(job_id, "failure", repeat=True)
    control.cancel(scene.context, [job_id])
    assert follower.ends() == b""
    assert follower.notices == []


def test_a_run_that_is_started_between_two_statements_of_a_look_is_followed(scene: Scene) -> None:
    job_id = scene.submit()
    owner = Scene(scene.directory)
    statements = 0

    def act(sql: str) -> None:
        nonlocal statements
        statements += bool(statements or "data_version" in sql)
        if statements == 3:  # behind the question for the version and the look at the job
            owner.start(job_id).close()
        if statements == 6:
            run = owner.run(job_id, 1)
            (scene.directory / f"{run.log}.out").write_bytes(b"late\n")
            owner.end(job_id)

    reader, out = os.pipe()
    with tapped(scene.store, act):
        follow.follow(scene.context, job_id, LAST_RUN, out)
    os.close(out)
    owner.close()
    with open(reader, "rb") as file:
        assert file.read() == b"late\n"


def test_a_job_that_has_ended_is_shown_and_not_waited_for(scene: Scene, followers: list[Follower]) -> None:
    job_id = scene.submit()
    for text in (b"first\n", b"second\n"):
        writer = scene.start(job_id)
        writer.write(text)
        writer.close()
        scene.end(job_id, repeat=text == b"first\n")
    followers += [Follower(scene, job_id), Follower(scene, job_id, Wanted(every=True))]
    assert followers[0].ends() == b"second\n"
    assert followers[1].ends() == b"first\nsecond\n"


def test_a_run_that_was_asked_for_is_followed_to_its_own_end(scene: Scene, followers: list[Follower]) -> None:
    job_id = scene.submit()
    followers += [follower := Follower(scene, job_id, Wanted(run=2))]
    for text in (b"first\n", b"second\n"):
        writer = scene.start(job_id)
        writer.write(text)
        writer.close()
        scene.end(job_id, "failure", repeat=True)
    assert follower.ends() == b"second\n"
    assert scene.job(job_id).phase == "queued"


def test_what_is_left_of_a_run_is_followed_while_it_is_being_stopped(
    scene: Scene, followers: list[Follower]
) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    followers += [follower := Follower(scene, job_id)]
    run = scene.run(job_id, 1)._replace(outcome="success", finished_at=1)
    scene.happen(job_id, Event("leftovers_found", "stopping", run=run))
    writer.write(b"a leftover\n")
    follower.reads(b"a leftover\n")
    writer.close()
    scene.happen(job_id, Event("ended", "completed", None, "success"))
    assert follower.ends() == b""


def test_of_what_is_there_only_the_last_lines_are_shown_if_asked_for(
    scene: Scene, followers: list[Follower]
) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    writer.write(b"one\ntwo\n")
    followers += [follower := Follower(scene, job_id, Wanted(lines=1))]
    follower.reads(b"two\n")
    writer.write(b"three\nfour\n")
    follower.reads(b"three\nfour\n")
    writer.close()
    scene.end(job_id, "failure", repeat=True)
    writer = scene.start(job_id)
    writer.write(b"five\nsix\n")
    follower.reads(b"five\nsix\n")
    writer.close()
    scene.end(job_id)
    assert follower.ends() == b""


def test_one_stream_is_followed_alone(scene: Scene, followers: list[Follower]) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    followers += [follower := Follower(scene, job_id, Wanted(stream="stderr"))]
    writer.write(b"out\n", b"err\n")
    follower.reads(b"err\n")
    writer.close()
    scene.end(job_id)
    assert follower.ends() == b""


def test_lines_get_their_times_and_an_unfinished_one_comes_with_the_end(
    scene: Scene, followers: list[Follower]
) -> None:
    job_id = scene.submit()
    writer = scene.start(job_id)
    followers += [follower := Follower(scene, job_id, Wanted(timestamps=True))]
    writer.write(b"one\nunfinished")
    writer.close()
    scene.end(job_id)
    texts = [line.split(b"Z ")[1] for line in follower.ends().splitlines()]
    assert texts == [b"one", b"unfinished"]


def test_who_stops_reading_ends_it_even_if_nothing_is_written(
    scene: Scene, followers: list[Follower]
) -> None:
    job_id = scene.submit()
    followers += [follower := Follower(scene, job_id)]
    follower.close()
    assert isinstance(follower.error, BrokenPipeError)


def test_a_job_that_ends_without_a_run_says_so(scene: Scene, followers: list[Follower]) -> None:
    job_id = scene.submit()
    followers += [Follower(scene, job_id), Follower(scene, job_id, Wanted(run=3))]
    control.cancel(scene.context, [job_id])
    assert followers[0].ends() == b""
    assert followers[0].notices == [f"job {job_id} has ended without a run"]
    followers[1].ends()
    assert isinstance(followers[1].error, InturnError)
    assert followers[1].error.code == "not_found"


def test_a_log_that_lacks_something_says_so_once(scene: Scene, followers: list[Follower]) -> None:
    job_id = scene.submit()
    scene.start(job_id).close()
    scene.end(job_id, incomplete=1, repeat=True)
    scene.start(job_id).close()
    followers += [follower := Follower(scene, job_id, Wanted(every=True))]
    scene.end(job_id, incomplete=1)
    follower.ends()
    assert [notice.split(" of job")[0] for notice in follower.notices] == [
        "the log of run 1",
        "the log of run 2",
    ]

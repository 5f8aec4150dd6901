"""An owner whose store is no longer in its place: what runs is seen to its end, and nothing is begun."""

from __future__ import annotations

import os
from collections.abc import Callable

import apsw
import pytest

from inturn.core.job import Condition
from inturn.core.moment import MINUTE, Deadline
from inturn.core.retry import Policy
from inturn.errors import InturnError
from inturn.host import store_dir
from inturn.owners.owner import LOOK_FOR_STORE_EVERY
from inturn.store import owners
from tests.e2e.harness import until
from tests.owners.life import Life
from tests.tapped import tapped

Begin = Callable[..., Life]

UNTIL_GO = "echo >> ready; until [ -e go ]; do sleep 0.01; done; echo $INTURN_RUN >> ran; exit 1"


def replace_store(life: Life) -> None:
    """Move the store away and put another, which has no jobs, in its place; the owner looks again soon."""
    os.rename(life.directory, life.root / "elsewhere")
    store_dir.create_store_dirs(life.directory)
    life.connect().close()
    life.clock.ahead += LOOK_FOR_STORE_EVERY


def turn_to_the_end(life: Life) -> InturnError:
    """Let the owner do its rounds until it gives up."""
    found: list[InturnError] = []

    def turn() -> bool:
        try:
            life.owner.turn()
        except InturnError as error:
            found.append(error)
        return bool(found)

    until(turn, "the owner gives up", deadline=30)
    assert not life.owner.tasks
    return found[0]


def test_a_run_that_fails_is_not_repeated_for_a_store_that_nobody_sees(begin: Begin) -> None:
    life = begin(UNTIL_GO, Policy(run_limit=None, failure_limit=None)).run_ready()
    replace_store(life)
    life.owner.turn()
    assert life.task.live
    (life.root / "go").touch()
    assert turn_to_the_end(life).code == "store_unusable"
    assert life.wrote("ran") == ["1"]
    assert life.runs[0].exit_code == 1, "it is told in the file that was moved"


def test_an_owner_that_waits_gives_up_at_its_next_look(begin: Begin) -> None:
    due = Deadline(2**62, "", 2**62)
    life = begin(conditions=(Condition(0, 0, "until", b"", due),))
    life.owner.turn()
    replace_store(life)
    with pytest.raises(InturnError, match="is gone, or another file is in its place"):
        life.owner.turn()
    assert life.job.phase == "waiting"


def test_a_stop_that_was_asked_for_is_carried_out(begin: Begin) -> None:
    life = begin(UNTIL_GO, stop_grace=MINUTE).run_ready()
    replace_store(life)
    life.owner.turn()
    life.task.cancel()
    life.turn_until(lambda: life.job.phase == "completed", "the end of the job")
    assert (life.job.outcome, life.wrote("ran")) == ("cancelled", [])


def test_an_owner_that_cannot_even_write_awaits_the_end_of_the_target_and_gives_up(begin: Begin) -> None:
    life = begin(UNTIL_GO).run_ready()
    replace_store(life)
    with tapped(life.store, commits_fail):
        life.owner.turn()
        life.clock.ahead += owners.RENEW_EVERY
        life.owner.turn()
        assert life.task.live
        (life.root / "go").touch()
        turn_to_the_end(life)
    assert life.wrote("ran") == ["1"]


def commits_fail(sql: str) -> None:
    if sql == "COMMIT":
        raise apsw.IOError("disk I/O error")

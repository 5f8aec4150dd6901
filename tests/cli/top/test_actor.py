from __future__ import annotations

from pathlib import Path

import pytest

from inturn.app import open_context
from inturn.cli.top.actor import Actor, Done
from inturn.cli.top.model import Deed
from inturn.service.context import Context
from inturn.store.transaction import CommitUnknown
from tests.e2e.harness import until
from tests.service.scene import Scene


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (ValueError("nobody has foreseen this"), "unexpected ValueError: nobody has foreseen this"),
        (CommitUnknown("disk I/O error"), "disk I/O error. It may have been done all the same"),
    ],
)
def test_whatever_goes_wrong_is_answered_and_the_next_deed_is_done(
    tmp_path: Path, problem: Exception, told: str
) -> None:
    scene = Scene(tmp_path / "store")
    job = scene.add()
    problems = [problem]

    def reopen() -> Context:
        if problems:
            raise problems.pop()
        return open_context(str(scene.directory), None, False, lambda _: None)

    done: list[Done] = []
    actor = Actor(reopen, done.append)
    actor.start()
    actor.do(Deed("cancel", job))
    actor.do(Deed("cancel", job))
    until(lambda: len(done) == 2 or not actor.is_alive(), "both answers")
    actor.stop()
    actor.join(60)
    assert [one.well for one in done] == [False, True]
    assert done[0].sentence.startswith(told)
    assert scene.job(job).outcome == "cancelled"
    scene.close()

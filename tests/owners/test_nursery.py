"""Many supervisors are to be forked from one process, and somebody dies meanwhile: nobody waits in vain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from inturn.app import open_context
from inturn.errors import InturnError
from inturn.host import tree
from inturn.service import submit
from inturn.service.context import Context
from tests.e2e.harness import Cli, until
from tests.owners.test_handover import submission, troubled

HOUR = 3600 * 1_000_000

# Dies when it has forked two.
THE_NURSERY_IS_KILLED = """
import signal
from inturn.host import faults
faults.arm("nursery.forked", lambda: faults.arm("nursery.forked", lambda: os.kill(os.getpid(), 9)))
"""

# Dies before it has said that it is there.
ONE_IS_KILLED = """
from inturn.host import brood
lock_of = brood.lock_of
def dying(path):
    if path.endswith(".1.lock"):
        os.kill(os.getpid(), 9)
    return lock_of(path)
brood.lock_of = dying
"""


@pytest.fixture
def context(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """A store whose submitters would wait for an hour."""
    monkeypatch.setattr(submit, "ANSWER_TIMEOUT", HOUR)
    opened = open_context(str(cli.store), str(cli.config), True, lambda _: None)
    yield opened
    assert opened.store is not None
    opened.store.close()
    until(lambda: not cli.processes(), "the end of what was submitted")
    tree.reap(())


@pytest.mark.parametrize(
    "trouble", [THE_NURSERY_IS_KILLED, ONE_IS_KILLED], ids=["the nursery", "one of them"]
)
def test_if_somebody_is_killed_while_they_come_nothing_is_submitted(
    cli: Cli, context: Context, trouble: str
) -> None:
    with pytest.raises(InturnError) as raised:
        submit.run(troubled(context, trouble), [submission(cli) for _ in range(3)])
    assert raised.value.code == "submission_failed"
    assert cli.run("list", "--all", "--json").data == []

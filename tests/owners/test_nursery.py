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


# Dies when it has begun to accept the jobs.
THE_NURSERY_IS_KILLED_LATER = """
from inturn.host import faults
nursery = os.getpid()
faults.arm("task.accepted.commit", lambda: os.getpid() != nursery or os.kill(nursery, 9), None)
"""

# However busy the machine is, nobody is given up for late.
PATIENT = """
from inturn.host import brood
brood.PATIENCE = 60_000_000
"""

# One comes when the others are just being accepted.
ONE_IS_LATE = """
import select
from inturn import nursery
from inturn.host import brood
brood.PATIENCE = 100_000
in_time, accept_all = brood.Nursling._is_in_time, nursery._accept_all
def late(one):
    if one.number == 1:
        os.read(here[0], 1)
    return in_time(one)
def accept(directory, tokens):
    if len(tokens) == 2:
        os.write(here[1], b"!")
        select.select([nests[0].voices], [], [], 60)
    return accept_all(directory, tokens)
nests, nest = [], brood.Nest
def remember():
    global here
    here = os.pipe()
    nests.append(nest())
    return nests[0]
brood.Nest, brood.Nursling._is_in_time, nursery._accept_all = remember, late, accept
"""

# One says to nobody that it is present, and goes on.
ONE_IS_SILENT = """
from inturn.host import brood
brood.PATIENCE = 100_000
in_time = brood.Nursling._is_in_time
brood.Nursling._is_in_time = lambda one: one.number != 1 and in_time(one)
"""


def acceptances(context: Context) -> list[int]:
    """How many jobs were accepted, instant by instant."""
    assert context.store is not None
    rows = context.store.execute("SELECT count(*) FROM events WHERE kind = 'accepted' GROUP BY at")
    return sorted(count for (count,) in rows)


def test_the_jobs_of_many_are_accepted_at_once(cli: Cli, context: Context) -> None:
    submit.run(troubled(context, PATIENT), [submission(cli) for _ in range(3)])
    assert acceptances(context) == [3]
    cli.run("wait", 1, 2, 3).check()


@pytest.mark.parametrize(
    "trouble",
    [THE_NURSERY_IS_KILLED_LATER, ONE_IS_SILENT, ONE_IS_LATE],
    ids=["the nursery is killed", "one is silent", "one is late"],
)
def test_who_is_not_accepted_with_the_others_does_it_alone(cli: Cli, context: Context, trouble: str) -> None:
    submit.run(troubled(context, trouble), [submission(cli) for _ in range(3)])
    found = acceptances(context)
    assert sum(found) == 3
    assert len(found) > 1, "all have been accepted at once"
    cli.run("wait", 1, 2, 3).check()


# The nursery dies when all have reported that they have hatched, and before it has counted them.
THE_NURSERY_IS_KILLED_BETWEEN = """
import signal, time
from inturn.host import brood
parent, hatched, nest = os.getpid(), brood.Nursling.hatched, brood.Nest.__init__
def with_reports(made):
    nest(made)
    made.reports = os.pipe()
def counted(one):
    reports, report = one._nest.reports
    os.write(report, b".")
    if one.number == 2:
        for _ in range(3):
            os.read(reports, 1)
        os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent:
        time.sleep(0.01)
    hatched(one)
brood.Nursling.hatched, brood.Nest.__init__ = counted, with_reports
"""


def test_who_has_reported_that_it_has_hatched_takes_its_job_whatever_becomes_of_the_nursery(
    cli: Cli, context: Context
) -> None:
    submit.run(troubled(context, THE_NURSERY_IS_KILLED_BETWEEN), [submission(cli) for _ in range(3)])
    cli.run("wait", 1, 2, 3).check()
    assert [cli.show(job_id)["outcome"] for job_id in (1, 2, 3)] == ["success"] * 3

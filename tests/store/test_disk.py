"""A disk that is full or fails, at each write of a submission, an admission and a completion.

Afterwards there is an error or a success and never a half; what the store says then stays true; and who comes
with a healthy disk goes on as if nothing had been.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from inturn.core.job import Job
from inturn.core.moment import SECOND
from inturn.core.spec import Submission
from inturn.core.transitions import Event
from inturn.engines.local import LocalEngine
from inturn.errors import InturnError
from inturn.host import wake
from inturn.owners import admit, claim, owner
from inturn.owners.tools import Tools
from inturn.service import control, enqueue, owned
from inturn.service.context import Context
from inturn.store import jobs, owners
from inturn.store.db import Store
from inturn.store.transaction import CommitUnknown
from tests.builders import (
    START,
    add_job,
    add_owner,
    commit,
    ended,
    make_run,
    make_submission,
    new_store,
    running,
    supervised,
)
from tests.builders import admit as grant
from tests.owners.life import Life
from tests.store.faults import Faults

# How the disk behaves from the failing operation on.
WAYS = ("full", "failing", "failing once")

Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture
def faults() -> Iterator[Faults]:
    made = Faults(f"disk-{os.getpid()}")
    apsw.set_default_vfs(made.name)
    yield made
    apsw.set_default_vfs("unix")
    made.unregister()


class Deed(NamedTuple):
    """What is done while the disk fails, in a store that `prepare` has made.

    `says_so`: an error of it means that nothing has been done.
    """

    prepare: Callable[[Store], object]
    do: Callable[[Store], object]
    says_so: bool


def context_of(store: Store) -> Context:
    return Context(store.directory, store, lambda: START, "", "", (), lambda _: None)


def tools_of(store: Store, me: int) -> Tools:
    return Tools(store, LocalEngine(), lambda: START, lambda: 0.5, store.directory, me, lambda: None)


def queued_submission(**fields: Any) -> Submission:
    return make_submission(queue="default", name="it", key="k", tags=(("a", "b"),), **fields)


def only_job(store: Store) -> Job:
    job = jobs.load(store, 1)
    assert job is not None
    return job


def prepare_nothing(store: Store) -> None:
    with store.writing():
        add_job(store)


def prepare_line(store: Store) -> None:
    with store.writing():
        supervised(store)


def prepare_queue(store: Store) -> None:
    with store.writing():
        add_job(store, queued_submission())
        worker = add_owner(store, "worker", "worker")
        owners.serve(store, worker, {"default": None}, 1)


def prepare_run(store: Store) -> None:
    with store.writing():
        job, me = supervised(store)
        job = grant(store, job)
        commit(store, job, Event("started", "running", run=running(make_run(job))), me=me)
        add_job(store, queued_submission(), edges={job.id: ("success",)})
        other = add_owner(store, "other")
        add_job(store, make_submission(), other, edges={job.id: ("success",)})


def submit_queued(store: Store) -> object:
    return enqueue.add(context_of(store), [queued_submission(), make_submission(queue="other")])


def submit_supervised(store: Store) -> object:
    newcomer = owned.Newcomer("token", "1:2:boot:4", (5, 6))
    return owned.store_owned(context_of(store), [make_submission(name="it")], [newcomer])


def be_admitted(store: Store) -> object:
    job = only_job(store)
    assert job.owner is not None
    return admit.Bidder(tools_of(store, job.owner)).request(job, START)


def claim_one(store: Store) -> object:
    (worker,) = owners.live(store)
    return claim.claim(tools_of(store, worker.id), {"default": None}, START, 1, False)


def complete(store: Store) -> None:
    """As an owner ends its only job."""
    job = only_job(store)
    assert job.owner is not None
    with store.writing():
        run = ended(running(make_run(job)), "success")
        commit(store, job, Event("ended", "completed", None, "success", run=run), me=job.owner)
        owners.retire(store, job.owner)


def cancel(store: Store) -> object:
    return control.cancel(context_of(store), [1])


DEEDS = {
    "a submission to a queue": Deed(prepare_nothing, submit_queued, True),
    "a submission with a supervisor": Deed(prepare_nothing, submit_supervised, True),
    "an admission": Deed(prepare_line, be_admitted, False),
    "a claim": Deed(prepare_queue, claim_one, False),
    "a completion": Deed(prepare_run, complete, False),
    "a cancellation": Deed(prepare_line, cancel, True),
}


class Disk:
    """Copies of a prepared store, and what stands in them."""

    def __init__(self, root: Path, deed: Deed) -> None:
        self._root = root
        self._copies = 0
        self.original = root / "original"
        self.original.mkdir()
        store = new_store(self.original)
        deed.prepare(store)
        store.close()
        self.before = read(self.original)
        done = new_store(self.copy(self.original))
        deed.do(done)
        self.after = read(Path(done.directory))
        done.close()
        assert self.before != self.after

    def copy(self, directory: Path) -> Path:
        """What would be found after a crash: the files, and no memory that was shared."""
        self._copies += 1
        target = self._root / str(self._copies)
        target.mkdir()
        for name in ("inturn.db", "inturn.db-wal"):
            if (directory / name).exists():
                shutil.copy(directory / name, target)
        return target


def read(directory: Path) -> Rows:
    """All that is in a store, as a healthy connection sees it; random words are left out."""
    connection = apsw.Connection(str(directory / "inturn.db"), vfs="unix")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: Rows = {}
    for table in tables:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        wanted = ", ".join(column for column in columns if (table, column) != ("runs", "token"))
        found[table] = sorted(connection.execute(f"SELECT {wanted} FROM {table}"), key=repr)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DEEDS)
def test_a_deed_is_done_or_not_and_never_half(name: str, way: str, faults: Faults, tmp_path: Path) -> None:
    deed = DEEDS[name]
    disk = Disk(tmp_path, deed)
    faults.full, faults.once = way == "full", way == "failing once"
    number = 0
    while do_with_fault(deed, disk, faults, number):
        number += 1
    assert number > 3


def do_with_fault(deed: Deed, disk: Disk, faults: Faults, number: int) -> bool:
    """Let the disk fail at one operation; returns whether there was one."""
    directory = disk.copy(disk.original)
    store = new_store(directory)
    faults.failed = 0
    error: Exception | None = None
    try:
        with faults.after(number):
            deed.do(store)
    except (InturnError, CommitUnknown) as raised:
        error = raised
    found = read(directory)
    assert found in (disk.before, disk.after), f"half of it is there, at {number}: {error}"
    if error is None:
        assert found == disk.after
    elif deed.says_so:
        assert isinstance(error, InturnError)
        assert found == disk.before, f"it was done all the same, at {number}: {error}"
    if not in_doubt(error):
        assert read(disk.copy(directory)) == found, f"after a crash it is another way, at {number}: {error}"
    store.close()
    goes_on(deed, disk, directory)
    return faults.failed > 0


def in_doubt(error: Exception | None) -> bool:
    """Whether it was said that a crash may yet bring to light what cannot be seen now."""
    if isinstance(error, InturnError):
        return isinstance(error.__cause__, CommitUnknown) and not error.__cause__.final
    return isinstance(error, CommitUnknown) and not error.final


def goes_on(deed: Deed, disk: Disk, directory: Path) -> None:
    """With a healthy disk what was not done can be done, and the store is as if nothing had been."""
    if read(directory) == disk.before:
        healthy = new_store(directory)
        deed.do(healthy)
        healthy.close()
    assert read(directory) == disk.after


def test_whoever_cannot_be_sure_that_nothing_was_submitted_says_so(faults: Faults, tmp_path: Path) -> None:
    disk = Disk(tmp_path, DEEDS["a submission to a queue"])
    hints = set()
    for number in range(100):
        store = new_store(disk.copy(disk.original))
        faults.failed = 0
        try:
            with faults.after(number):
                submit_queued(store)
        except InturnError as error:
            hints.add((error.code, error.hint))
        store.close()
        if not faults.failed:
            break
    assert hints == {
        ("failed", "It may still come back with the disk: see inturn list before you submit it again.")
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_job_ends_once_though_its_owner_cannot_write_that_down(
    way: str, faults: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "AFTER_ERROR", 1000)
    faults.full, faults.once = way == "full", way == "failing once"
    number, failed = 0, True
    while failed:
        life = Life(tmp_path / str(number), "until [ -e go ]; do sleep 0.01; done; echo ran >> ran").accept()
        life.reach("running")
        (life.root / "go").touch()
        wake.wait(life.task.descriptors(), 30 * SECOND)
        faults.failed = 0
        with faults.after(number):
            while life.owner.tasks and not faults.failed:
                life.owner.turn()
        assert_ended_or_as_before(life)
        if life.owner.tasks:
            life.live()
        assert (life.job.outcome, life.job.runs, life.slots) == ("success", 1, 0)
        assert life.wrote("ran") == ["ran"]
        life.close()
        failed = faults.failed > 0
        number += 1
    assert number > 3


def assert_ended_or_as_before(life: Life) -> None:
    job = life.job
    assert (job.phase, job.outcome) in (("running", None), ("completed", "success"))
    assert life.slots == int(job.phase == "running")
    assert len(owners.live(life.other)) == int(job.phase == "running")

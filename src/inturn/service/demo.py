"""The demonstration: one preparation and four shards, submitted by the real command line and run for real.

It is the pipeline of the article on scheduling without a central scheduler. What it shows in the end is read
from the ledger alone.
"""

from __future__ import annotations

import os
import subprocess
import sys

from inturn.core.moment import SECOND
from inturn.core.proof import Claim, Ledger, prove
from inturn.core.views import Filters
from inturn.errors import InturnError
from inturn.host import identity
from inturn.service import control, query
from inturn.service.demo_files import FILES
from inturn.store import reads, settings, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import NamedTuple

    from inturn.core.views import LedgerEntry, View
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

POOL = "analysis"
SHARDS = (1, 2, 3, 4)
PREPARATION = "prepare_data"

# How long it may all take (µs); it takes some seconds, unless others hold the slots.
PATIENCE = 120 * SECOND

# How long a supervisor may take to leave once its job has ended (µs).
FAREWELL = 10 * SECOND


class Teller(NamedTuple):
    """Who is told what happens: each command before it is run, the id that it printed, what was committed."""

    command: Callable[[Sequence[str]], None]
    submitted: Callable[[int], None]
    entry: Callable[[LedgerEntry], None]


class Proof(NamedTuple):
    """How it went: the jobs, what the ledger has of them, and what that proves."""

    views: tuple[View, ...]
    entries: tuple[LedgerEntry, ...]
    claims: tuple[Claim, ...]

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(claim.holds for claim in self.claims)


def lay_out(directory: str) -> None:
    """Write the programs and the configuration into a directory, and name our interpreter `python` there.

    Raises OSError.
    """
    for name, content in FILES.items():
        with open(os.path.join(directory, name), "x", encoding="utf-8") as file:
            file.write(content)
    programs = os.path.join(directory, "bin")
    os.mkdir(programs)
    # The commands say `python`; what that is on this machine, and whether there is one, is another matter.
    os.symlink(sys.executable, os.path.join(programs, "python"))


def perform(context: Context, directory: str, teller: Teller) -> Proof:
    """Submit the pipeline that `lay_out` has written to `directory`, see it to its end, and judge it.

    Raises InturnError `conflict` if the store goes by another file that has no such pool, `failed` if a
    command fails or it takes too long. Its jobs have then been cancelled.
    """
    store = context.store
    assert store is not None
    _check_pool(context, store)
    ids: list[int] = []
    supervisors: list[str] = []
    try:
        for job_id in _submit(context, store, directory, teller):
            ids.append(job_id)
            (view,) = query.look_at(context, [str(job_id)], detailed=False)
            if view.keeper is not None:
                supervisors.append(view.keeper.identity)
        entries = []
        for entry in _watch(context, ids):
            entries.append(entry)
            teller.entry(entry)
    except BaseException:
        _give_up(context, store, directory)
        raise
    _see_off(context, supervisors)
    return _judge(context, store, ids, tuple(entries))


def _check_pool(context: Context, store: Store) -> None:
    known = settings.applied(store)
    if known is not None and POOL not in {pool.name for pool in settings.pools(store)}:
        raise InturnError(
            "conflict",
            f"the store {context.directory} goes by {known.path}, which has no pool {POOL}",
            "Without --dir and INTURN_DIR the demonstration has a store of its own.",
        )


def _give_up(context: Context, store: Store, directory: str) -> None:
    """Cancel what was submitted, also by a command that was interrupted before it could print an id.

    All of it was to run in the directory of this demonstration, and nothing else was.
    """
    live = query.listing(context, Filters(statuses=("live",)), None, False, lambda view: view.job.id)
    here = os.fsencode(directory)
    control.cancel(context, [job_id for job_id in live if specs.load(store, job_id).cwd == here])


def _submit(context: Context, store: Store, directory: str, teller: Teller) -> Iterator[int]:
    prepared = _inturn(context, directory, ("--name", PREPARATION, "--", "python", "prepare_data.py"), teller)
    yield prepared
    # In a store that has seen a demonstration before, others have the name.
    parent = PREPARATION if len(reads.named(store, PREPARATION, 2)) == 1 else str(prepared)
    for shard in SHARDS:
        options = ("--after-success", parent, "--pool", POOL, "--slots", "1")
        retries = ("--retries", "2", "--retryable-exit-code", "1", "--retry-delay", "1s")
        command = ("--", "python", "analyze_data.py", "--shard", str(shard))
        yield _inturn(context, directory, options + retries + command, teller)


def _inturn(context: Context, directory: str, words: tuple[str, ...], teller: Teller) -> int:
    """Submit one job by the real command line, in the environment of the demonstration; returns its id."""
    teller.command(("inturn", "run", *words))
    programs = os.path.join(directory, "bin")
    environment = {
        **os.environ,
        "PATH": programs + os.pathsep + os.environ.get("PATH", os.defpath),
        "INTURN_DIR": context.directory,
        "INTURN_CONFIG": context.config_path,
    }
    done = subprocess.run(
        (sys.executable, "-P", "-m", "inturn", "run", *words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=directory,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        raise InturnError("failed", f"inturn run was refused: {said}")
    job_id = int(done.stdout)
    teller.submitted(job_id)
    return job_id


def _watch(context: Context, ids: Sequence[int]) -> Iterator[LedgerEntry]:
    """What the ledger says of these jobs from their submission on, as it grows, until all have ended."""
    from time import sleep

    end = context.now().mono + PATIENCE

    def pause(span: int) -> None:
        if context.now().mono > end:
            raise InturnError(
                "failed",
                f"the demonstration has not ended within {PATIENCE // SECOND} seconds",
                "Its jobs were cancelled. See why they waited: inturn events",
            )
        sleep(span / SECOND)

    going = set(ids)
    first = query.events(context, 0, str(ids[0]), lambda entry: entry.id)[0]
    for entry in query.follow(context, first - 1, None, pause):
        if entry.job_id in ids:
            yield entry
            if entry.target == "completed":
                going.discard(entry.job_id)
        if not going:
            return


def _see_off(context: Context, supervisors: Sequence[str]) -> None:
    """Wait until the supervisors are gone: they leave when their jobs have ended, and nothing may stay."""
    from time import sleep

    end = context.now().mono + FAREWELL
    for supervisor in supervisors:
        while identity.verify(identity.parse(supervisor)) == "alive":
            if context.now().mono > end:
                raise InturnError("failed", f"a supervisor did not leave: {supervisor}")
            sleep(0.01)


def _judge(context: Context, store: Store, ids: Sequence[int], entries: tuple[LedgerEntry, ...]) -> Proof:
    views = tuple(query.look_at(context, map(str, ids), detailed=True))
    policies = {job_id: specs.load(store, job_id).policy for job_id in ids}
    limits = {pool.name: pool.slots for pool in settings.pools(store) if pool.slots is not None}
    return Proof(views, entries, prove(Ledger(entries, views, policies), limits))

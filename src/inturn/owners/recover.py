"""Reconciliation: what becomes of the jobs of owners that are proven dead.

It runs in whoever has a reason to look: workers with their heartbeat, blocked supervisors, commands, and
`inturn recover`. It may run in several processes at once: each change is a compare-and-swap, and the loser
leaves it at that. An expired lease is a reason to look, and no proof.
"""

from __future__ import annotations

from inturn.core import transitions
from inturn.host import faults, paths
from inturn.owners.lost import resolve
from inturn.owners.vigil import verdict
from inturn.store import gates, jobs, owners, specs
from inturn.store.transaction import Stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from typing import NamedTuple

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.engines.base import Engine
    from inturn.store.db import Store
    from inturn.store.owners import Owner
else:
    from inturn.core.records import NamedTuple


class Kit(NamedTuple):
    """What a reconciliation works with.

    `relaunch` gives jobs of a dead owner new supervisors; it takes the jobs as they were read, and returns
    the ids of those that have got one: somebody else may have been first. `end_probes` ends what the probes
    of dead owners have left running.
    """

    store: Store
    engine: Engine
    now: Callable[[], Now]
    draw: Callable[[], float]
    directory: str
    relaunch: Callable[[Sequence[Job]], Container[int]]
    end_probes: Callable[[Sequence[Owner]], None] = lambda _: None


class Finding(NamedTuple):
    """What was done about a job.

    `relaunched`: a new supervisor waits for it; `adopted`: one watches its run, which lives; `lost`: its run
    is gone, and its result with it; `returned`: its run was never started; `ended`: the result was known, or
    it was being stopped; `failed`: it had never been taken over; `unverified`: whether its owner or its run
    lives cannot be told from here, so that nothing was done.
    """

    job_id: int
    what: str


def reconcile(kit: Kit, suspects: Iterable[Owner]) -> list[Finding]:
    """Look at owners, and take care of the jobs of those that are proven dead."""
    findings: list[Finding] = []
    orphans: list[Job] = []
    dead: list[Owner] = []
    for owner in suspects:
        life = "dead" if owner.gone_at is not None else verdict(kit.directory, owner)
        if life == "unknown":
            findings += [Finding(job.id, "unverified") for job in jobs.owned_by(kit.store, owner.id)]
        elif life == "dead":
            with faults.commit("bury", kit.store.writing()):
                owners.bury(kit.store, owner.id, kit.now())
                gates.disown(kit.store, owner.id)
            findings += _settle_estate(kit, owner, orphans)
            dead.append(owner)
    kit.end_probes([owner for owner in dead if _boot_of(owner) == kit.now().boot])
    if orphans:
        faults.point("recover.relaunching")
        taken = kit.relaunch(orphans)
        findings = [one for one in findings if one.what not in _BY_RELAUNCH or one.job_id in taken]
    for owner in dead:
        _forget(kit, owner)
    return findings


# What only a new supervisor makes true.
_BY_RELAUNCH = ("relaunched", "adopted")


def _settle_estate(kit: Kit, owner: Owner, orphans: list[Job]) -> list[Finding]:
    """Take care of the jobs of a dead owner; those that need a supervisor are added to `orphans`."""
    findings = []
    for job in jobs.owned_by(kit.store, owner.id):
        try:
            what, left = _settle(kit, owner, job)
        except Stale:
            continue  # Somebody else is at it.
        if left is not None:
            orphans.append(left)
        findings.append(Finding(job.id, what))
    return findings


def _settle(kit: Kit, owner: Owner, job: Job) -> tuple[str, Job | None]:
    """What was done about one job of a dead owner, and the job if it needs a supervisor now."""
    if job.phase == "submitting":
        event = transitions.Event("submission_failed", "completed", "no_supervisor", "submission_failed")
        _commit(kit, job, event)
        return "failed", None
    if not transitions.holds_slots(job):
        return "relaunched", job
    run = jobs.load_run(kit.store, job.id, job.runs)
    assert run is not None
    found = kit.engine.find(run.native_id, run.token, f"{kit.directory}/{run.log}")
    if found.state == "unknown":
        return "unverified", None
    if found.running is not None:
        found.running.close(over=False)
        faults.point("recover.adopting")
        return "adopted", job
    if _boot_of(owner) != kit.now().boot:
        # A run whose process was never stored does not tell by itself on which boot it was.
        found = found._replace(rebooted=True)
    event = resolve(job, specs.load(kit.store, job.id), run, found, kit.now(), kit.draw())
    after = _commit(kit, job, event)
    what = {"lost": "lost", "withdrawn": "returned"}.get(event.kind, "ended")
    return what, after if after.owner is not None else None


def _boot_of(owner: Owner) -> str:
    return owner.identity.split(":")[2]


def _commit(kit: Kit, job: Job, event: transitions.Event) -> Job:
    now = kit.now()
    transition = transitions.apply(job, event, now)
    with faults.commit("resolve", kit.store.writing()):
        jobs.commit(kit.store, [transition], now)
    return transition.after


def _forget(kit: Kit, owner: Owner) -> None:
    """Strike a dead owner that has nothing any more off the registry."""
    current = owners.load(kit.store, owner.id)
    if current is None or current.gone_at is None or jobs.owned_by(kit.store, owner.id):
        return
    with faults.commit("forget", kit.store.writing(durable=False)):
        owners.retire(kit.store, owner.id)
    faults.point("recover.forgotten")
    paths.discard(*paths.owner_files(kit.directory, owner.token))

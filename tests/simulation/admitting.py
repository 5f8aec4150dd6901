"""What must hold of an admission: room, the ceilings, and the order of the line.

The rule itself is `inturn.core.admission.decide`, which has tests of its own. The product gives it the heads
of each class, found by an index; here it is given everybody who stands in line.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inturn.core.admission import STORE, Capacity, Request, array_scope, decide
from inturn.core.job import IN_LINE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from inturn.core.job import Job
    from tests.simulation.change import Change
    from tests.simulation.snapshot import Admission, Snapshot


def admitted(change: Change) -> list[Job]:
    """The jobs that this commit gave slots to."""
    return [change.after.jobs[event.job_id] for event in change.after.events if event.kind == "admitted"]


def capacity_is_never_exceeded(change: Change) -> Iterator[str]:
    """Where more is in use than there is, the limit was lowered: nobody may have been admitted there."""
    after = change.after
    room = capacity(after, after.admissions.values())
    for job in admitted(change):
        for scope in room.scopes(request(job)):
            if room.used[scope] > room.limits[scope]:
                yield f"job {job.id}: {room.used[scope]} of {room.limits[scope]} slots are used in {scope!r}"


def devices_are_shared_by_so_many(change: Change) -> Iterator[str]:
    after = change.after
    for job in admitted(change):
        pool = after.pools.get(job.pool)
        if pool is None or not pool.devices:
            continue
        own = after.admissions[job.id].devices.split(",")
        if len(set(own)) != job.slots or not set(own) <= set(pool.devices.split(",")):
            yield f"job {job.id} asked for {job.slots} devices of {pool.devices} and got {own}"
        users = Counter(
            name
            for one in after.admissions.values()
            if one.pool == job.pool
            for name in one.devices.split(",")
        )
        if any(users[name] > pool.per_device for name in own):
            yield f"job {job.id} shares {own}, of which each is for {pool.per_device}: {dict(users)}"


def workers_keep_to_their_orders(change: Change) -> Iterator[str]:
    """After a claim no more is active in the queue than the ceiling, or in the worker's hands than places."""
    after = change.after
    for job in admitted(change):
        if not job.queue:
            continue
        worker = after.owners[after.admissions[job.id].owner]
        ceilings = {queue: ceiling for owner, queue, ceiling in after.serves if owner == worker.id}
        if job.queue not in ceilings:
            yield f"job {job.id} of queue {job.queue} was claimed by one that serves {list(ceilings)}"
            continue
        active = sum(one.queue == job.queue for one in after.admissions.values())
        in_hand = sum(one.owner == worker.id for one in after.admissions.values())
        if active > (ceilings[job.queue] or active) or in_hand > worker.places:
            yield f"job {job.id}: {active} active in its queue, of {ceilings[job.queue]}; {in_hand} in hand"
        if not worker.accepting:
            yield f"job {job.id} was claimed by worker {worker.id}, which is not accepting"


def the_line_is_kept(change: Change) -> Iterator[str]:
    """Each admission is the one that the rule gives for the whole line, and the right counts grow.

    Of jobs that are admitted by one commit, each stands in line until it is its turn.
    """
    before, after = change.before.jobs, change.after
    jobs = admitted(change)
    passes = {one.id: before[one.id].bypass_count if one.id in before else 0 for one in after.jobs.values()}
    for number, job in enumerate(jobs):
        passed = yield from _judge(after, job, jobs[number + 1 :], passes)
        if passed is not None:
            passes[passed] += 1
    for one in after.jobs.values():
        if jobs and one.in_line == IN_LINE and one.bypass_count != passes[one.id]:
            yield f"job {one.id} has been passed {one.bypass_count} times, not {passes[one.id]}"


def _judge(
    after: Snapshot, job: Job, later: list[Job], passes: dict[int, int]
) -> Generator[str, None, int | None]:
    """Whether it was the turn of a job that was admitted before `later`; returns whom it has passed."""
    to_come = {job.id, *(one.id for one in later)}
    others = [one for one in after.admissions.values() if one.job_id not in to_come]
    served = served_queues(after, others)
    line = [
        request(one)._replace(bypass_count=passes[one.id])
        for one in (*later, *(one for one in after.jobs.values() if one.in_line == IN_LINE))
        if not is_held(after, one) and (not one.queue or one.queue in served)
    ]
    if is_held(after, job):
        yield f"job {job.id} was admitted, though its queue or pool is paused"
    decision = decide(request(job), line, capacity(after, others))
    if not decision.admitted:
        yield f"job {job.id} was admitted, but {decision}"
    return decision.passed.job_id if decision.passed is not None else None


def request(job: Job) -> Request:
    """What a job asks for."""
    return Request(job.id, job.priority, job.due.wall, job.slots, job.pool, job.bypass_count, job.throttle)


def is_held(after: Snapshot, job: Job) -> bool:
    """Whether the queue or the pool of a job is paused."""
    return ("queue", job.queue) in after.held or ("pool", job.pool) in after.held


def served_queues(after: Snapshot, held: list[Admission]) -> set[str]:
    """The queues from which a live worker would claim, while these slots are held."""
    free = {
        one.id
        for one in after.owners.values()
        if one.accepting and not one.silent and one.gone_at is None
        if sum(admission.owner == one.id for admission in held) < one.places
    }
    active = Counter(one.queue for one in held)
    return {
        queue
        for owner, queue, ceiling in after.serves
        if owner in free and (ceiling is None or active[queue] < ceiling)
    }


def capacity(after: Snapshot, held: Iterable[Admission]) -> Capacity:
    """The limits, and what these admissions use of them."""
    held = list(held)
    limits = {pool.name: pool.slots for pool in after.pools.values() if pool.slots is not None}
    used = Counter[str]()
    for one in held:
        used[STORE] += one.slots
        if one.pool:
            used[one.pool] += one.slots
        if one.throttle:
            used[array_scope(one.throttle)] += 1
    limits |= {array_scope(array): at_once for array, at_once in after.arrays.items() if at_once is not None}
    return Capacity(
        limits, used, {name: _free_devices(after, name, held) for name in after.pools if _named(after, name)}
    )


def _named(after: Snapshot, pool: str) -> bool:
    return bool(after.pools[pool].devices)


def _free_devices(after: Snapshot, name: str, held: list[Admission]) -> list[int]:
    pool = after.pools[name]
    users = Counter(device for one in held if one.pool == name for device in one.devices.split(","))
    return [pool.per_device - users[device] for device in pool.devices.split(",")]


RULES: tuple[Callable[[Change], Iterator[str]], ...] = (
    capacity_is_never_exceeded,
    devices_are_shared_by_so_many,
    workers_keep_to_their_orders,
    the_line_is_kept,
)

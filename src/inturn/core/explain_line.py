"""Why a job that stands in line has no slots: what admission would say, who is before it, who holds them."""

from __future__ import annotations

from inturn.core.admission import BYPASS_LIMIT, array_scope
from inturn.core.duration import quoted
from inturn.core.job import SILENT
from inturn.core.phrases import instant, label, rough, slots
from inturn.core.reasons import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NamedTuple

    from inturn.core.admission import Capacity, Decision, Request
    from inturn.core.held import Lane
    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.roster import Member
    from inturn.core.views import Holder, Scope
else:
    from inturn.core.records import NamedTuple

# So many of those who hold slots, or stand before a job, are named.
NAMED = 5

# The largest priority that there is.
_HIGHEST = 2**31 - 1

# So many who stand before a job are counted; that there are more of them is all that anybody needs to know.
COUNTED = 10_000


class Place(NamedTuple):
    """Where a job stands in line.

    `decision` is what admission would say now about `mine`, given `capacity`; `other_name` names the older
    request in it. `before` counts those who stand before the job, to COUNTED and one more, and `first` are
    the first of them with their names. `scopes` are the pools and the store; `config_path` is the file that
    declares some of them. `workers` is empty for a supervised job, else `none`, `busy` or `free`: who serves
    its queue; where all are busy, `servers` are they, and `occupied` who holds slots in the queue. `siblings`
    are the jobs of its array that hold slots, if that lets only some of them. `held` are its queue and its
    pool as far as they are paused.
    """

    mine: Request
    decision: Decision
    capacity: Capacity
    other_name: str | None
    before: int
    first: tuple[tuple[Request, str | None], ...]
    scopes: tuple[Scope, ...]
    config_path: str
    workers: str = ""
    held: tuple[Lane, ...] = ()
    servers: tuple[Member, ...] = ()
    occupied: tuple[Holder, ...] = ()
    siblings: tuple[Holder, ...] = ()


def reasons(job: Job, place: Place, now: Now) -> tuple[Reason, ...]:
    """Why the job has not been admitted, the weightiest first."""
    told = [_paused(lane) for lane in place.held]
    if job.in_line == SILENT:
        message = "it was offered slots and did not take them; it is left out until its owner shows up again"
        told.append(Reason("silent", message, f"inturn cancel {job.id}", job.id))
    if place.workers == "none":
        told.append(no_worker(job))
    elif place.workers == "busy":
        told.append(_busy(job, place, now))
    told += _decided(job, place, now)
    if place.before:
        told.append(_standing(job, place))
    if job.bypass_count:
        message = f"younger requests have passed it {job.bypass_count} of {BYPASS_LIMIT} times"
        told.append(Reason("passed", message + "; then it is waited for", "", job.id))
    return tuple(told)


def _paused(lane: Lane) -> Reason:
    what = "is claimed from it" if lane.kind == "queue" else "is admitted to it"
    message = f"the {lane.kind} {quoted(lane.name)} is paused: nothing {what}"
    return Reason("paused", message, f"inturn resume --{lane.kind} {lane.name}")


def no_worker(job: Job) -> Reason:
    """That nobody would run the job, if it could be run."""
    message = f"no live worker serves the queue {quoted(job.queue)}"
    return Reason("no_worker", message, f"inturn work --queue {job.queue}", job.id)


def _busy(job: Job, place: Place, now: Now) -> Reason:
    """That every worker of the queue has its hands full, or keeps to its ceiling."""
    message = f"no worker of the queue {quoted(job.queue)} may claim another job now"
    because = [_server(one, job.queue, len(place.occupied)) for one in place.servers[:NAMED]]
    because += _holders(place.occupied, now, f"inturn list --queue {job.queue} --status active")
    return Reason("workers_busy", message, f"inturn work --queue {job.queue}", job.id, tuple(because))


def _server(one: Member, queue: str, occupied: int) -> Reason:
    who = f"worker {one.keeper.id} (process {one.keeper.pid})"
    ceiling = one.queues.get(queue)
    if ceiling is not None and occupied >= ceiling:
        message = f"{who} claims while fewer than {ceiling} jobs of the queue hold slots, and {occupied} do"
        return Reason("ceiling", message, "inturn queues")
    if one.busy >= one.places:
        return Reason("places", f"{who} has {one.busy} of {one.places} places taken", "inturn workers")
    return Reason("silent_worker", f"{who} has not answered an offer", "inturn workers")


def _decided(job: Job, place: Place, now: Now) -> Iterator[Reason]:
    decision, other = place.decision, place.decision.other
    if decision.admitted:
        if job.in_line != SILENT and place.workers in ("", "free"):
            yield Reason("about_to_start", "nothing is in its way, and it is about to start", "", job.id)
    elif decision.reason in ("too_large", "full"):
        yield from _obstacles(place.mine, place, now)
    elif other is not None:
        who = label(other.job_id, place.other_name)
        if decision.reason == "yields":
            message = f"{who} stands before it in line and may take the slots now"
            yield Reason("yields", message, f"inturn why {other.job_id}", other.job_id)
        else:
            message = (
                f"{who} asks for {slots(other.slots)} and has been passed {other.bypass_count} times,"
                " so that nobody passes it any more"
            )
            because = tuple(_obstacles(other, place, now))
            yield Reason("held", message, f"inturn why {other.job_id}", other.job_id, because)


def _obstacles(request: Request, place: Place, now: Now) -> Iterator[Reason]:
    """The scopes of the decision in which `request` does not fit."""
    for name in place.decision.obstacles:
        if request.throttle and name == array_scope(request.throttle):
            limit = place.capacity.limits[name]
            message = f"its array lets {limit} of its jobs run at once, and so many do"
            fix = f"inturn list --array {request.throttle} --status active"
            because = tuple(_holders(place.siblings, now, fix))
            yield Reason("full", message, fix, request.job_id, because)
        else:
            scope = next(scope for scope in place.scopes if scope.name == name)
            yield _obstacle(request.slots, scope, place.config_path, now)


def _obstacle(wanted: int, scope: Scope, config_path: str, now: Now) -> Reason:
    """A pool, or the store, in which a request for `wanted` slots does not fit now, or never can."""
    who = f"pool {quoted(scope.name)}" if scope.name else "the store"
    limit = len(scope.devices) if scope.devices else scope.slots or 0
    where = f"; {config_path} declares that: raise it there, then apply it" if scope.declared else ""
    if wanted > limit:
        has = f"{limit} device" if scope.devices else f"{limit} slot"
        has += "" if limit == 1 else "s"
        message = f"{slots(wanted)} are asked for, and {who} has only {has} by now{where}"
        return Reason("too_large", message, _raise(scope, wanted))
    message = f"{who} is full: {scope.used} of {scope.slots} slots in use, {wanted} more wanted"
    if scope.devices:
        message += ", each on a device of its own"
    message += where
    because = tuple(_holders(scope.holders, now, "inturn pools"))
    return Reason("full", message, _raise(scope, scope.used + wanted), None, because)


def _holders(holders: Sequence[Holder], now: Now, rest: str) -> Iterator[Reason]:
    """Who holds slots since when; `rest` is the command that shows those who are not named."""
    for holder in holders[:NAMED]:
        devices = f" ({holder.pool}: {holder.devices.replace(',', ', ')})" if holder.devices else ""
        since = f"{instant(holder.granted_at)} ({rough(now.wall - holder.granted_at)})"
        who = label(holder.job_id, holder.name)
        message = f"{who} holds {slots(holder.slots)}{devices} since {since}"
        yield Reason("holder", message, f"inturn logs {holder.job_id}", holder.job_id)
    if len(holders) > NAMED:
        yield Reason("holder", f"{len(holders) - NAMED} more jobs hold slots", rest)


def _raise(scope: Scope, wanted: int) -> str:
    """The command that raises the limit to `wanted`; a declared one is raised in its file before that."""
    if scope.declared:
        return "inturn config apply"
    return f"inturn pools set {scope.name} {wanted}" if scope.name else f"inturn limit {wanted}"


def _standing(job: Job, place: Place) -> Reason:
    names = ", ".join(label(request.job_id, name) for request, name in place.first)
    if place.before > len(place.first):
        names += ", …"
    number = f"number {place.before + 1}" if place.before <= COUNTED else f"beyond number {COUNTED}"
    message = f"it is {number} in line, after {names}"
    foremost = place.first[0][0].priority if place.first else job.priority
    if foremost >= _HIGHEST:
        return Reason("place", message, "inturn list --status queued", job.id)
    return Reason("place", message, f"inturn edit {job.id} --priority {foremost + 1}", job.id)

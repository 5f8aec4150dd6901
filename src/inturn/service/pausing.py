"""Pausing jobs, whole queues and whole pools, and letting them go on.

A job that is paused while it runs keeps its slots, and its processes are stopped by its owner. One that waits
or stands in line does neither any more. A queue or pool that is paused admits nothing; what runs goes on.
"""

from __future__ import annotations

from inturn.core import transitions
from inturn.core.duration import quoted
from inturn.core.held import Lane
from inturn.core.transitions import TABLE, Event, Transition
from inturn.errors import InturnError
from inturn.host import faults
from inturn.service.acting import act, existing, standing
from inturn.store import admissions, held, jobs
from inturn.store import lanes as queues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NamedTuple

    from inturn.core.job import Job, Run
    from inturn.core.moment import Now
    from inturn.service.acting import Acted
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple


class LaneActed(NamedTuple):
    """What became of a queue or pool; `refusal` is why nothing was done, empty if something was."""

    lane: Lane
    refusal: str = ""


def pause(context: Context, job_ids: Iterable[int]) -> list[Acted]:
    """Pause jobs that wait, stand in line or run; what became of each. Raises as `acting.act`.

    For those that run the intent is durable when this returns; their owners stop the processes.
    """
    return act(context, job_ids, _pause)


def resume(context: Context, job_ids: Iterable[int]) -> list[Acted]:
    """Let jobs that are paused go on as what they were; what became of each. Raises as `acting.act`.

    What happened meanwhile counts now: a dependency that ended, an absolute time that has passed.
    """
    return act(context, job_ids, _resume)


def _pause(store: Store, job: Job, now: Now) -> Transition | str:
    if job.phase not in TABLE["paused"][0]:
        return standing(job)
    run = _target(store, job)
    if run is not None:
        run = run._replace(watch=run.watch.halt(now))
    return transitions.apply(job, Event("paused", "paused", "requested", run=run), now)


def _resume(store: Store, job: Job, now: Now) -> Transition | str:
    if job.held_phase is None:
        return standing(job) if job.phase == "completed" else "it is not paused"
    run = _target(store, job)
    if run is not None:
        run = run._replace(watch=run.watch.start(now))
    return transitions.apply(job, Event("resumed", job.held_phase, "requested", run=run), now)


def _target(store: Store, job: Job) -> Run | None:
    """The run whose time does not count while the job is paused."""
    return jobs.load_run(store, job.id, job.runs) if transitions.holds_slots(job) else None


def hold(context: Context, lanes: Sequence[Lane], with_running: bool) -> tuple[list[LaneActed], list[Acted]]:
    """Pause queues or pools, and with `with_running` the jobs of theirs that run; what became of each.

    Raises InturnError `unknown_pool`, and then nothing is done.
    """
    store = existing(context)
    with faults.commit("hold", store.writing()):
        now = context.now()
        for lane in lanes:
            _check_pool(store, lane)
        strange = {lane for lane in lanes if lane.kind == "queue" and not queues.is_known(store, lane.name)}
        fresh = [held.hold(store, lane, now) for lane in lanes]
        # Others may have stood behind what does not compete any more.
        admissions.wake_admissible(store, now)
        running = _all_of(store, lanes, ("starting", "running"))
    for lane, done in zip(lanes, fresh, strict=True):
        if done and lane in strange:
            # It may well be paused before anything is in it; or its name was mistyped.
            context.notice(f"queue {quoted(lane.name)} has had no job yet, and no worker serves it")
    acted = pause(context, running) if with_running else []
    told = "" if with_running else "it is paused already"
    return [LaneActed(lane, "" if done else told) for lane, done in zip(lanes, fresh, strict=True)], acted


def release(
    context: Context, lanes: Sequence[Lane], with_running: bool
) -> tuple[list[LaneActed], list[Acted]]:
    """Let queues or pools go on, and with `with_running` their jobs that were paused while they ran."""
    store = existing(context)
    with faults.commit("release", store.writing()):
        done = [held.release(store, lane) for lane in lanes]
        admissions.wake_admissible(store, context.now())
        paused = _all_of(store, lanes, ("paused",))
    acted = resume(context, paused) if with_running else []
    told = "" if with_running else "it is not paused"
    return [LaneActed(lane, "" if one else told) for lane, one in zip(lanes, done, strict=True)], acted


def _all_of(store: Store, lanes: Iterable[Lane], phases: tuple[str, ...]) -> list[int]:
    found = (job_id for lane in lanes for job_id in held.holders_in(store, lane, phases))
    return list(dict.fromkeys(found))


def _check_pool(store: Store, lane: Lane) -> None:
    """Any name may be that of a queue, but a pool exists or not."""
    if lane.kind != "pool" or store.row("SELECT 1 FROM pools WHERE name = ?", (lane.name,)) is not None:
        return
    raise InturnError(
        "unknown_pool", f"there is no pool {quoted(lane.name)}", "See which there are: inturn pools"
    )

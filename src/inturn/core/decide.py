"""What the owner of a job should do now. Pure: everything that was seen is handed in.

The owner carries out one step, looks again and asks again, until it is to sleep. What has to do with its own
hold on a run comes before that, and is not decided here: to start it, to find it again, to bind its process.
"""

from __future__ import annotations

from inturn.core import transitions
from inturn.core.job import NOT_IN_LINE, Job, Run
from inturn.core.moment import SECOND, Deadline, after
from inturn.core.retry import after_run, ever_later, judge_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NamedTuple

    from inturn.core.job import Condition, Edge
    from inturn.core.moment import Now
    from inturn.core.spec import Spec
else:
    from inturn.core.records import NamedTuple

# A target that survives KILL is in the kernel's hands; it is asked again at this interval, in case it forked.
KILL_INTERVAL = SECOND


class Step(NamedTuple):
    """One thing to do.

    `commit` an event; `receipts`: write what completed parents came to; `look` at `conditions`;
    `request` admission; `terminate`, `kill`, `halt` or `continue` the run; `sleep` at most `wait`
    microseconds (None: until something happens). An owner adds kinds for what it alone knows to be needed:
    `launch` or `find` a run that it has not in hand, `bind` its process to the run that is stored.
    """

    kind: str
    event: transitions.Event | None = None
    conditions: tuple[Condition, ...] = ()
    wait: int | None = None


class Ended(NamedTuple):
    """How a target itself ended, and what it and the children it waited for have used.

    Either `exit_code` or `signal` is set; both are None when the status could not be learned. Times are
    microseconds. `max_rss` is the peak of the largest process in bytes, as the kernel gives it: never below
    the peak of the owner, whose memory it counts for the instant before the program takes its place.
    """

    exit_code: int | None
    signal: int | None
    user_us: int = 0
    system_us: int = 0
    max_rss: int = 0


class Sight(NamedTuple):
    """What the owner sees of a run: its end, whether processes are left of it, and what was done to stop it.

    `ended_at` is the monotonic instant at which its end was seen, `term_at` and `kill_at` are those of the
    last TERM and KILL; `halted` says that it was stopped by STOP and not continued since, and `halt_at` when
    it is to be stopped once more, because one of its processes may have got away. `told_before` says that it
    was to be stopped already when its owner took it over: a former owner may have sent a TERM.
    """

    ended: Ended | None = None
    ended_at: int | None = None
    leftovers: bool = False
    term_at: int | None = None
    kill_at: int | None = None
    halted: bool = False
    halt_at: int | None = None
    told_before: bool = False


def before_run(
    job: Job,
    spec: Spec,
    edges: Sequence[Edge],
    conditions: Sequence[Condition],
    next_look: Mapping[int, int],
    now: Now,
) -> Step:
    """The next step for a job that is waiting or queued, or was paused as that.

    `next_look` says, by position, at which monotonic instant a file or probe is to be looked at again.
    """
    if job.phase == "paused":
        return Step("sleep")
    deadline = deadline_event(job, spec, now)
    if deadline is not None:
        return Step("commit", deadline)
    if job.phase == "waiting":
        return _at_the_gates(job, spec, edges, conditions, next_look, now)
    if job.in_line == NOT_IN_LINE and not job.due.reached(now):
        return Step("sleep", wait=_earliest(job.due.remaining(now), _until_deadline(job, spec, now)))
    return Step("request", wait=_until_deadline(job, spec, now))


def deadline_event(job: Job, spec: Spec, now: Now) -> transitions.Event | None:
    """The end of a job whose time is over before a run could start."""
    if spec.job_timeout is not None and job.watch.elapsed(now) >= spec.job_timeout:
        return transitions.Event("timed_out", "completed", "job_timeout", "timed_out")
    if not job.attempts and spec.wait_abort_at is not None and now.wall >= spec.wait_abort_at:
        return transitions.Event("aborted", "completed", "wait_deadline", "aborted")
    abort_at = spec.policy.abort_at
    if job.attempts and abort_at is not None and now.wall > abort_at:
        return transitions.Event("aborted", "completed", "retry_deadline", "aborted")
    return None


def _until_deadline(job: Job, spec: Spec, now: Now) -> int | None:
    times = []
    if spec.job_timeout is not None:
        times.append(spec.job_timeout - job.watch.elapsed(now))
    if not job.attempts and spec.wait_abort_at is not None:
        times.append(spec.wait_abort_at - now.wall)
    if job.attempts and spec.policy.abort_at is not None:
        times.append(spec.policy.abort_at - now.wall + 1)
    return _earliest(*times)


def _at_the_gates(
    job: Job,
    spec: Spec,
    edges: Sequence[Edge],
    conditions: Sequence[Condition],
    next_look: Mapping[int, int],
    now: Now,
) -> Step:
    if any(not edge.judged and edge.parent_phase == "completed" for edge in edges):
        return Step("receipts")
    open_since = conditions_met_at(conditions, spec.wait_mode)
    event = judge_gates(job, edges, open_since, now)
    if event is not None:
        return Step("commit", event)
    ready = []
    waits = [_until_deadline(job, spec, now)]
    if open_since is None:
        for condition in conditions:
            if condition.satisfied_at is None:
                wait = _until_look(condition, next_look, now)
                waits.append(wait)
                if wait <= 0:
                    ready.append(condition)
    if ready:
        return Step("look", conditions=tuple(ready))
    return Step("sleep", wait=_earliest(*waits))


def judge_gates(
    job: Job, edges: Sequence[Edge], open_since: int | None, now: Now
) -> transitions.Event | None:
    """What the receipts on a job's edges come to; None as long as it must wait.

    `open_since` is when the wait conditions were met (wall µs, 0 if there are none), None if they are not.
    """
    if any(edge.judged and not edge.satisfied for edge in edges):
        return transitions.Event("aborted", "completed", "dependency_unsatisfied", "aborted")
    if open_since is None or not all(edge.judged for edge in edges):
        return None
    return transitions.Event("gates_opened", "queued", due=_place(job, edges, open_since, now))


def conditions_met_at(conditions: Sequence[Condition], mode: str) -> int | None:
    """When the conditions were met together (wall µs; 0 if there are none), or None if they are not."""
    times = [condition.satisfied_at for condition in conditions if condition.satisfied_at is not None]
    if not conditions:
        return 0
    if mode == "any":
        return min(times, default=None)
    return max(times) if len(times) == len(conditions) else None


def _place(job: Job, edges: Sequence[Edge], open_since: int, now: Now) -> Deadline:
    """The later of the user's delay and the moment at which the prerequisites were satisfied.

    For dependencies that is the completion of the last one, so that dependents of one job tie and their ids
    decide. What is due is anchored to the monotonic clock: a wall clock that is set back changes nothing.
    """
    if not job.due.reached(now):
        return job.due
    wall = max(job.due.wall, open_since, *(edge.observed_completed_at or 0 for edge in edges), 0)
    return Deadline(wall, now.boot, now.mono)


def _until_look(condition: Condition, next_look: Mapping[int, int], now: Now) -> int:
    if condition.kind in ("until", "delay"):
        return condition.due.remaining(now)
    return next_look.get(condition.position, now.mono) - now.mono


def during_run(job: Job, spec: Spec, run: Run, sight: Sight, now: Now, draw: float) -> Step:
    """The next step for a job that holds slots: starting, running, paused while it ran, or stopping.

    `draw` is uniform in [0, 1).
    """
    if sight.ended is not None:
        return _after_the_end(job, spec, run, sight, now, draw)
    if (job.phase == "paused") != sight.halted:
        return Step("halt" if job.phase == "paused" else "continue")
    if job.phase == "paused":
        wait = None if sight.halt_at is None else sight.halt_at - now.mono
        return Step("sleep", wait=wait) if wait is None or wait > 0 else Step("halt")
    if job.phase == "stopping":
        return _stop(spec, sight, now)
    waits = []
    if spec.job_timeout is not None:
        waits.append((spec.job_timeout - job.watch.elapsed(now), "job_timeout"))
    if spec.run_timeout is not None:
        waits.append((spec.run_timeout - run.watch.elapsed(now), "run_timeout"))
    if not waits:
        return Step("sleep")
    wait, reason = min(waits)
    if wait <= 0:
        return Step("commit", transitions.Event("stop_requested", "stopping", reason))
    return Step("sleep", wait=wait)


def _after_the_end(job: Job, spec: Spec, run: Run, sight: Sight, now: Now, draw: float) -> Step:
    """Record the result at once; then end what is left of the run; only then let go of the slots.

    A result that nobody saw is recorded as lost when nothing is left: the crash budget is asked then.
    """
    assert sight.ended is not None
    job = _as_its_run_has_seen_it(job, sight)
    known = sight.ended.exit_code is not None or sight.ended.signal is not None
    fresh = None
    if run.outcome is None and known:
        fresh = run = _finished(job, spec, run, sight, now)
    if sight.leftovers and not spec.leave_children:
        if fresh is not None or job.phase != "stopping":
            return Step("commit", transitions.Event("leftovers_found", "stopping", run=fresh))
        return _stop(spec, sight, now)
    if run.outcome is None:
        return Step("commit", lose(job, spec, run, False, now, draw))
    since = None if sight.ended_at is None else now.mono - sight.ended_at
    return Step("commit", conclude(job, spec, run, fresh, now, draw, since))


def _as_its_run_has_seen_it(job: Job, sight: Sight) -> Job:
    """The job without a stop for its worker's sake of which the run, which has ended, was never told.

    It has ended by itself: its worker looked too late. Every other stop is what its user wanted, or was due
    while it still ran, and says what has become of it in any case.
    """
    told = sight.told_before or sight.term_at is not None or sight.kill_at is not None
    return job._replace(stop_reason=None) if job.stop_reason == "requeued" and not told else job


def _finished(job: Job, spec: Spec, run: Run, sight: Sight, now: Now) -> Run:
    ended = sight.ended
    assert ended is not None
    return run._replace(
        outcome=judge_end(spec.policy, ended.exit_code, ended.signal, job.stop_reason),
        exit_code=ended.exit_code,
        signal=ended.signal,
        finished_at=now.wall,
        user_us=ended.user_us,
        system_us=ended.system_us,
        max_rss=ended.max_rss,
        watch=run.watch.halt(now),
    )


def conclude(
    job: Job, spec: Spec, run: Run, fresh: Run | None, now: Now, draw: float, since: int | None = None
) -> transitions.Event:
    """The event that ends the job or sends it back in line after `run`.

    `fresh` is the run if its result is recorded by this very event, else None: it has been counted already.
    `since` is how long ago it ended (µs), if somebody has measured that; else the wall clock tells.
    """
    # A run that had ended by itself before it could be stopped is not repeated for its worker's sake.
    if job.stop_reason == "requeued" and run.outcome == "cancelled":
        return transitions.Event("repeated", "queued", "requeued", run=fresh)
    counted = job if fresh is None else transitions.count(job, fresh)
    assert run.finished_at is not None
    # The run was over in time or not when it ended: ending its leftovers cannot turn its success around.
    if since is None:
        since = max(now.wall - run.finished_at, 0)
    job_timed_out = spec.job_timeout is not None and job.watch.elapsed(now) - since >= spec.job_timeout
    verdict = after_run(spec.policy, counted, run, job_timed_out, now, draw, since)
    if verdict.outcome is not None:
        return transitions.Event("ended", "completed", verdict.reason, verdict.outcome, run=fresh)
    due = verdict.due or Deadline(run.finished_at, now.boot, now.mono)
    return transitions.Event("repeated", "queued", run.outcome, due=due, run=fresh)


def lose(job: Job, spec: Spec, run: Run, rebooted: bool, now: Now, draw: float) -> transitions.Event:
    """The event for a run that is proven to be over, but whose result nobody saw.

    One whose result was recorded, or that was being stopped, ends as that says. Else it is lost, and the
    crash budget decides: None is unlimited, and with 0 a job is never run again without being asked, not even
    after a reboot, which is otherwise not charged.
    """
    if run.outcome is not None:
        return conclude(job, spec, run, None, now, draw)
    fresh = run._replace(finished_at=now.wall, watch=run.watch.halt(now))
    if job.stop_reason is not None:
        fresh = fresh._replace(outcome=judge_end(spec.policy, None, None, job.stop_reason))
        return conclude(job, spec, fresh, fresh, now, draw)
    fresh = fresh._replace(outcome="lost", diagnostic="its owner died, and its result with it")
    reason = transitions.REBOOTED if rebooted else "owner_died"
    crashes = job.crashes + (not rebooted)
    budget = spec.max_crashes
    if budget is not None and (budget == 0 or crashes > budget):
        return transitions.Event("lost", "completed", reason, "lost", run=fresh)
    # A job that kills its worker comes back ever later.
    pause = max(spec.policy.delay, ever_later(crashes))
    return transitions.Event("lost", "queued", reason, due=after(now, pause), run=fresh)


def withdraw(
    job: Job,
    run: Run,
    now: Now,
    diagnostic: str = "withdrawn: its owner died before it was started",
    failure: str | None = None,
    pause: int = 0,
) -> transitions.Event:
    """The event for a run that was reserved, but is proven not to have been started: it never happened.

    With a `pause` (µs) the job is out of the line for so long, by the monotonic clock, and then back at its
    place: nothing is charged. `failure` is the engine's word for what was in the way.
    """
    fresh = run._replace(outcome="cancelled", failure=failure, finished_at=now.wall, diagnostic=diagnostic)
    if job.stop_reason in ("cancelled", "job_timeout"):
        outcome = "cancelled" if job.stop_reason == "cancelled" else "timed_out"
        reason = "requested" if job.stop_reason == "cancelled" else "job_timeout"
        return transitions.Event("withdrawn", "completed", reason, outcome, run=fresh)
    due = None
    # Whom a worker has had to put back anyway, somebody else may have more to start with.
    if pause and job.stop_reason != "requeued":
        due = Deadline(job.due.wall, now.boot, now.mono + pause)
    return transitions.Event("withdrawn", "queued", "not_started", due=due, run=fresh)


def _stop(spec: Spec, sight: Sight, now: Now) -> Step:
    """TERM, the grace period, then KILL until nothing is left."""
    if sight.term_at is None:
        return Step("terminate")
    wait = sight.term_at + spec.stop_grace - now.mono
    if sight.kill_at is not None:
        wait = sight.kill_at + KILL_INTERVAL - now.mono
    if wait <= 0:
        return Step("kill")
    return Step("sleep", wait=wait)


def _earliest(*waits: int | None) -> int | None:
    known = [wait for wait in waits if wait is not None]
    return max(min(known), 0) if known else None

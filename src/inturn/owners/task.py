"""The one way to run a job: observe, decide, commit, act.

A supervisor drives one Task, a worker several. A Task never sleeps: it says how long nothing needs to be done
for it, and which descriptors would tell earlier.
"""

from __future__ import annotations

import os

from inturn.core import decide, transitions
from inturn.core.job import Job, Run
from inturn.core.moment import MILLISECOND, Stopwatch
from inturn.engines.base import OUT_OF_RESOURCES, OutOfResources, StartFailed
from inturn.host import faults
from inturn.owners.admit import Bidder
from inturn.owners.gatekeeper import Gatekeeper
from inturn.owners.launching import failed_start, launch_of, pause_after_lack, stem_of
from inturn.owners.signals import Signals
from inturn.store import jobs, owners, settle, specs  # noqa: F401 - settle: once it is wanted, it may be newer
from inturn.store.transaction import Stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inturn.core.moment import Now
    from inturn.core.spec import Spec
    from inturn.engines.base import Running
    from inturn.owners.tools import Tools

# How often what is left of a run is looked at while it is being ended (µs).
LEFTOVER_INTERVAL = 10 * MILLISECOND

# How long a run may go unbound (µs). Many a run is over by then: its start and its end are one commit.
BIND_AFTER = 5 * MILLISECOND


class Task:
    """One job in the hands of its owner.

    `done`: the job needs this owner no more: completed, back in a queue, or somebody else's. `holds_slots`: a
    lease must be kept for it. `lacked`: this owner, or the machine, had not what it takes to start its run.
    """

    def __init__(self, tools: Tools, job: Job, run: Run | None = None) -> None:
        """Take care of `job`; `run` is the one that has just been reserved for it, if there is one."""
        self._tools = tools
        self._see(job)
        self._store = tools.store
        self._spec: Spec = specs.load(tools.store, job.id)
        self._gates = Gatekeeper(tools, job.id)
        self._bidder = Bidder(tools)
        self._run = run
        # The run that this process has reserved and is to start. Any other was started by somebody else.
        self._reserved = run.number if run is not None else 0
        self._running: Running | None = None
        self.lacked = False
        # What is to be closed, and whether it is over.
        self._put_away: list[tuple[Running, bool]] = []
        # Until when the store need not know which process the run is; None if it does.
        self._bind_at: int | None = None
        self._sight = decide.Sight()
        # A worker has been left to record the end of this run together with others, if it can.
        self._end_was_left = False
        self._signals = Signals()
        self._load_gates()

    def _see(self, job: Job) -> None:
        """From now on the job is like this. What follows from that is asked for often, and changes rarely."""
        self.job = job
        self.done = job.owner != self._tools.owner
        self.holds_slots = transitions.holds_slots(job)

    @property
    def has_looked(self) -> bool:
        """Whether its gates, as they were last read, have been acted upon by this owner."""
        return self._gates.has_looked

    @property
    def yields(self) -> bool:
        """Whether it has left slots to another job, which may not come and take them."""
        return self._bidder.yields

    @property
    def live(self) -> bool:
        """Whether a target is being watched, so that its logs are to be sampled."""
        return self._running is not None

    def descriptors(self) -> list[int]:
        """What becomes readable when there is something to do before the time that `advance` gave."""
        watched = self._gates.descriptors()
        if self._running is not None and self._sight.ended is None:
            watched.append(self._running.fileno())
        return watched

    def sample(self) -> None:
        """Note how long the logs are by now."""
        if self._running is not None:
            self._running.sample()

    def reload(self) -> None:
        """Read the job again, since the store has changed."""
        self._bidder.look_again()
        if jobs.is_at(self._store, self.job):
            self._load_gates()  # A receipt is no change of the job.
            return
        fresh = jobs.load(self._store, self.job.id)
        if fresh is None:  # it was cancelled and pruned since we looked
            self._see(self.job._replace(owner=None))
            self.let_go()
            return
        if fresh.revision != self.job.revision:
            self._spec = specs.load(self._store, fresh.id)  # It may have been edited.
        self._see(fresh)
        self._load_gates()
        if (self.holds_slots or self.live) and self._run is not None and self._run.number == fresh.runs:
            stored = jobs.load_run(self._store, fresh.id, fresh.runs)
            # One that is not bound yet we know better than the store.
            if stored is not None and (stored.native_id or stored.outcome is not None):
                self._run = stored
        # A commit that seemed to fail may have ended the run.
        if self.done or (self.live and not self.holds_slots):
            self.let_go()

    def _load_gates(self) -> None:
        if self.job.phase in ("submitting", "waiting"):
            self._gates.load(bool(self.job.conditional))

    def cancel(self) -> None:
        """Cancel the job: at once if it has no target, else by stopping that."""
        if not self.holds_slots and not self.done:
            try:
                event = transitions.Event("cancelled", "completed", "requested", "cancelled")
                self._commit(event, self._tools.now())
            except Stale:
                self.reload()
        self.stop("cancelled")

    def kill(self) -> None:
        """Have a target that is being stopped killed now, whatever its grace period."""
        self._sight = self._sight._replace(term_at=self._tools.now().mono - self._spec.stop_grace)

    def stop(self, reason: str) -> None:
        """Ask for the end of the run, unless that is under way for a heavier reason."""
        if self.holds_slots and transitions.heavier(reason, self.job.stop_reason):
            try:
                self._commit(transitions.Event("stop_requested", "stopping", reason), self._tools.now())
            except Stale:
                self.reload()

    def advance(self) -> int | None:
        """Do everything that can be done now; returns the microseconds until there may be more.

        None means that only a change of the store, or a descriptor, can bring more.
        """
        self._gates.acted_upon = True
        while not self.done:
            if not (self._tools.alone or self._end_was_left) and self._has_ended():
                self._end_was_left = True
                return 0
            now = self._tools.now()
            step = self._next(now)
            if step.kind == "sleep":
                return step.wait
            try:
                refused = self._carry_out(step, now)
            except Stale:
                self.reload()
                continue
            if refused:
                return step.wait
        return None

    def _next(self, now: Now) -> decide.Step:
        if not self.holds_slots:
            self._gates.collect(self._spec, now)
            known = self._gates
            return decide.before_run(
                self.job, self._spec, known.edges, known.conditions, known.next_look, now
            )
        if self._run is None or self._run_is_superseded():
            self.let_go()
            self._run = jobs.load_run(self._store, self.job.id, self.job.runs)
        assert self._run is not None
        if self._running is None:
            return decide.Step("launch" if self._reserved == self._run.number else "find")
        self._look_at_run(now)
        if self._bind_at is not None:
            wait = self._bind_at - now.mono
            unhurried = wait > 0 and self.job.phase == "starting" and self._sight.ended is None
            return decide.Step("sleep", wait=wait) if unhurried else decide.Step("bind")
        step = decide.during_run(self.job, self._spec, self._run, self._sight, now, self._tools.draw())
        if step.kind == "sleep" and self._sight.ended is not None:
            return step._replace(wait=min(step.wait or LEFTOVER_INTERVAL, LEFTOVER_INTERVAL))
        return step

    def _run_is_superseded(self) -> bool:
        """Whether the commit that ended the run in our hands, and began another one, seemed to fail."""
        return self._run is not None and self._run.number != self.job.runs

    def _look_at_run(self, now: Now) -> None:
        assert self._running is not None
        ended = self._running.poll()
        if ended is not None:
            leftovers = not self._spec.leave_children and self._running.leftovers()
            seen = now.mono if self._sight.ended_at is None else self._sight.ended_at
            self._sight = self._sight._replace(ended=ended, ended_at=seen, leftovers=leftovers)
            if self._run is not None and self._running.log_incomplete:
                self._run = self._run._replace(log_incomplete=1)

    def _carry_out(self, step: decide.Step, now: Now) -> bool:
        """Do one step. Returns True if nothing more can be done before something changes."""
        if step.kind == "commit":
            assert step.event is not None
            self._commit(step.event, now)
        elif step.kind == "receipts":
            self._gates.take_receipts(now)
        elif step.kind == "look":
            self._gates.look(step.conditions, self._spec, now)
        elif step.kind == "request":
            # Should the commit seem to fail, we know all the same that nobody has started it.
            self._reserved = self.job.runs + 1
            admitted = self._bidder.request(self.job, now)
            if admitted is None:
                return True
            self._committed(admitted)
        elif step.kind == "launch":
            self._launch(now)
        elif step.kind == "find":
            return not self._find(now)
        elif step.kind == "bind":
            self._bind(now)
        else:
            assert self._running is not None
            self._sight = self._signals.send(step.kind, self._running, self._sight, now)
        return False

    def _commit(self, event: transitions.Event, now: Now) -> None:
        self._commit_chain([transitions.apply(self.job, event, now)], now)

    def _commit_chain(self, chain: list[transitions.Transition], now: Now) -> None:
        """Commit transitions of the job, each of which begins where the one before it ends."""
        event, tools = chain[-1].event, self._tools
        # Binding a process may be lost with the machine: the process is lost with it.
        with faults.commit("task", self._store.writing(durable=event.kind != "started"), event.kind):
            jobs.commit(self._store, chain, now, tools.owner)
            if tools.alone and event.to == "completed":
                owners.retire(self._store, tools.owner)
        self.committed(chain)

    def committed(self, chain: Iterable[transitions.Transition]) -> None:
        """Go on from transitions of the job that have been committed."""
        for transition in chain:
            self._committed(transition)

    def _committed(self, transition: transitions.Transition) -> None:
        self._see(transition.after)
        if transition.event.run is not None:
            self._run = transition.event.run
        if self.done or not self.holds_slots:
            self.let_go()

    def reap(self) -> None:
        """Collect the end of the run, if it has come."""
        self._has_ended()

    def _has_ended(self) -> bool:
        return self._running is not None and self._running.poll() is not None

    def ending(self, now: Now) -> list[transitions.Transition]:
        """What records that the run has ended and nothing of it is left; empty if there is something else.

        It is for the caller to commit it and to say so to `committed`, or to leave it to `advance`.
        """
        if self._running is None or self._run is None or not self.holds_slots or self.done:
            return []
        if self._run_is_superseded():
            return []
        self._look_at_run(now)
        if self._sight.ended is None or (self._bind_at is not None and self.job.phase != "starting"):
            return []
        chain = [] if self._bind_at is None else [self._started(now)]
        job = chain[0].after if chain else self.job
        step = decide.during_run(job, self._spec, self._run, self._sight, now, self._tools.draw())
        if step.event is None or step.event.kind not in ("ended", "repeated"):
            return []
        return [*chain, transitions.apply(job, step.event, now)]

    def _started(self, now: Now) -> transitions.Transition:
        return transitions.apply(self.job, transitions.Event("started", "running", run=self._run), now)

    def let_go(self) -> None:
        """Drop what is under way here for a job that is in other hands from now on, or in nobody's."""
        if self._running is not None:
            over = self._run is not None and self._run.outcome is not None
            self._put_away.append((self._running, over))
            self._running = None
        self._bind_at = None
        self._gates.abandon()
        self._sight = decide.Sight()
        self._end_was_left = False

    def put_away(self) -> None:
        """Close what was let go of. It can wait until the next run has been started."""
        while self._put_away:
            running, over = self._put_away.pop()
            faults.point("run.closing")
            running.close(over)
            faults.point("run.closed")

    def _find(self, now: Now) -> bool:
        """Take over a run that a dead owner has left; returns whether it could be told what became of it."""
        run = self._run
        assert run is not None
        found = self._tools.engine.find(run.native_id, run.token, stem_of(self._tools, run))
        if found.state == "unknown":
            return False
        if found.running is None:
            from inturn.owners.lost import resolve

            self._commit(resolve(self.job, self._spec, run, found, now, self._tools.draw()), now)
            return True
        self._running = found.running
        faults.point("run.found")
        self._bind_at = now.mono if self.job.phase == "starting" else None
        # Whether it has been told to stop or to go on is not known: it is told again.
        self._sight = decide.Sight(
            halted=self.job.phase != "paused", told_before=self.job.stop_reason is not None
        )
        if not run.native_id:
            self._run = run._replace(
                native_id=found.running.native_id, started_at=now.wall, watch=Stopwatch().start(now)
            )
            if self.job.phase != "starting":
                self._identify(self._run)
        return True

    def _launch(self, now: Now) -> None:
        run = self._run
        assert run is not None
        faults.point("run.launching")
        try:
            self._running = self._tools.engine.start(launch_of(self._tools, self.job, self._spec, run))
        except OutOfResources as lack:
            self.lacked = True
            message, pause = lack.message, pause_after_lack(self._store, run)
            self._commit_for_sure(
                lambda job: decide.withdraw(job, run, now, message, OUT_OF_RESOURCES, pause), now
            )
            return
        except StartFailed as failure:
            failed = failed_start(run, failure, now)
            self._commit_for_sure(
                lambda job: decide.conclude(job, self._spec, failed, failed, now, self._tools.draw()), now
            )
            return
        faults.point("run.launched")
        self._bind_at = now.mono + BIND_AFTER
        self._run = run._replace(
            native_id=self._running.native_id,
            executable=os.fsencode(self._running.executable),
            started_at=now.wall,
            watch=Stopwatch().start(now),
        )

    def _commit_for_sure(self, event_of: Callable[[Job], transitions.Event], now: Now) -> None:
        """Record that nothing was started, also if a stop was asked for meanwhile."""
        try:
            self._commit(event_of(self.job), now)
        except Stale:
            self.reload()
            if not self.done:
                self._commit(event_of(self.job), now)

    def _bind(self, now: Now) -> None:
        """Record which process the run is, and how it has ended if it has.

        A stop may have been asked for since the run was reserved.
        """
        run = self._run
        assert run is not None
        if self.job.phase != "starting":
            self._identify(run)
            return
        chain = self.ending(now) or [self._started(now)]
        try:
            self._commit_chain(chain, now)
        except Stale:
            self.reload()
            if not self.done:
                self._identify(run)
        self._bind_at = None

    def _identify(self, run: Run) -> None:
        """Record which process the run is, apart from any transition."""
        with faults.commit("identify", self._store.writing(durable=False)):
            jobs.identify(self._store, run, self._tools.owner)
        self._bind_at = None

"""A worker: claims the jobs of its queues and runs as many at a time as it has places, in one thread."""

from __future__ import annotations

from inturn.core.job import NOT_IN_LINE
from inturn.core.places import Places
from inturn.host import faults
from inturn.owners import claim
from inturn.owners.owner import UNREAD, Owner
from inturn.owners.task import Task
from inturn.store import admissions, due, gates, jobs, overdue, owners
from inturn.store.transaction import Stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from inturn.core.moment import Deadline
    from inturn.owners.tools import Tools
else:
    from inturn.core.records import NamedTuple

# What the store was like at the last failed claim: its version, and our own changes, which do not show there.
NEVER = (UNREAD, UNREAD)


class Orders(NamedTuple):
    """What a worker is to do: its queues with their ceilings (None: none), and how many jobs at a time.

    With `drain` it ends when its queues are settled, with `once` after at most one job.
    """

    queues: Mapping[str, int | None]
    places: int = 1
    drain: bool = False
    once: bool = False


class Worker(Owner):
    """An owner that claims."""

    def __init__(self, tools: Tools, fifo: int, orders: Orders) -> None:
        super().__init__(tools, fifo)
        self._orders = orders
        self._stops_asked = 0
        self._stops_heeded = 0
        self._exhausted = False
        self._settled_at = UNREAD
        self._gates_seen_at = UNREAD
        self._refused_at = NEVER
        self._places = Places(orders.places)
        # How many it may have in this round, and how many it has said in the registry to have.
        self._limit = self._announced = orders.places
        # Jobs that it could not start, and until when it has put each of them off.
        self._owed: dict[int, Deadline] = {}

    def ask_to_stop(self) -> None:
        """To be called by a signal handler: once to claim nothing more, twice to put running jobs back."""
        self._stops_asked += 1

    def work(self) -> None:
        """Claim and run jobs until the orders are fulfilled, or a stop was asked for."""
        self.begin()
        while not self.finished():
            self.turn()
        self.end()

    def begin(self) -> None:
        """Say in the registry which queues are served from now on."""
        with faults.commit("serve", self._tools.store.writing(durable=False)):
            owners.serve(self._tools.store, self._tools.owner, self._orders.queues, self._orders.places)

    def end(self) -> None:
        """Leave the registry, and to others what waits: only when our own probes of it are gone."""
        for task in self.tasks:
            task.let_go()
            task.put_away()
        self._tools.engine.rest()
        with faults.commit("retire", self._tools.store.writing(durable=False)):
            gates.disown(self._tools.store, self._tools.owner)
            owners.retire(self._tools.store, self._tools.owner)

    def finished(self) -> bool:
        """Whether there is nothing left to do: the orders are fulfilled, and nothing runs any more.

        That the queues were settled no longer holds when one of our own tasks has done something since: the
        job whose gates it minds may have been waited for. A stop counts also where the store, which is to say
        that no more is accepted here, cannot be read.
        """
        settled = self._settled_at != UNREAD and self._settled_at == self._tools.store.own_changes()
        is_over = self._exhausted or settled or (self._failed and self._stops_asked > 0)
        return is_over and not any(task.holds_slots for task in self.tasks)

    def _seek(self) -> list[int]:
        """Record what has ended, fill the free places; returns when to look again without the poll (µs)."""
        self._heed_stops()
        self._find_limit()
        self._exchange()
        if self._exhausted:
            return []
        self._adopt_gates()
        while self._free_places() > 0:
            if not (self._worth_claiming() and self._claim()):
                return [max(due.next_due(self._tools.store, self._tools.now()), 0)]
        until_one_more = self._places.wait(self._tools.now().mono)
        return [until_one_more] if until_one_more else []

    def _find_limit(self) -> None:
        """See how many jobs it may have, and tell those who would leave slots to what waits for it."""
        if not self._places.reduced and self._limit == self._announced:
            return
        now = self._tools.now().mono
        self._places.running(sum(task.live for task in self.tasks), now)
        self._limit = self._places.limit(now)
        if self._limit != self._announced:
            store, queues, accepting = self._tools.store, self._orders.queues, not self._stops_heeded
            with faults.commit("serve", store.writing(durable=False)):
                owners.serve(store, self._tools.owner, queues, self._limit, accepting)
            self._announced = self._limit

    def _advance(self, task: Task) -> list[int]:
        waits = super()._advance(task)
        if task.lacked and task.done:
            self._do_with_less(task)
            waits.append(0)
        return waits

    def _do_with_less(self, task: Task) -> None:
        """It had not what it takes to start this one: those that run stay, and may be replaced."""
        held = sum(one.holds_slots for one in self.tasks)
        self._places.lacked(held, self._tools.now().mono)
        self._limit = min(self._limit, held)
        if task.job.phase == "queued":
            self._owed[task.job.id] = task.job.due
        # The one job that it was to run has not been run.
        self._exhausted = self._exhausted and not (self._orders.once and not self._stops_asked)

    def _exchange(self) -> None:
        """Record all the runs that have ended, and claim jobs in their place: one commit for all of it."""
        store, now = self._tools.store, self._tools.now()
        # All are reaped before the first is asked for what it has left: one look tells for them all.
        for task in self.tasks:
            task.reap()
        ends = [(task, chain) for task in self.tasks if (chain := task.ending(now))]
        if not ends:
            return
        transaction = store.writing()
        for kind in {chain[-1].event.kind for _, chain in ends}:
            transaction = faults.commit("task", transaction, kind)
        claimed = claim.Claim()
        try:
            with transaction:
                come = jobs.commit(
                    store, [one for _, chain in ends for one in chain], now, self._tools.owner, wake=False
                )
                if self._exhausted or self._stops_asked:
                    admissions.wake_admissible(store, now, self._tools.owner)
                else:
                    places = self._free_places() + len(ends)
                    queues = self._orders.queues
                    claimed = claim.take(self._tools, queues, now, places, draining=False, come=come)
        except Stale:
            return  # Each task finds out for itself whether it is its job that has changed.
        for task, chain in ends:
            task.committed(chain)
        self._begin(claimed)

    def _begin(self, claimed: claim.Claim) -> None:
        for transition in claimed.admitted:
            self.tasks.append(Task(self._tools, transition.after, transition.event.run))

    def _claim(self) -> bool:
        """Claim jobs for the free places; returns whether to go on claiming."""
        version = self._tools.store.version()
        looked = all(task.has_looked for task in self.tasks if not task.holds_slots)
        places = 1 if self._orders.once else self._free_places()
        orders = self._orders
        result = claim.claim(self._tools, orders.queues, self._tools.now(), places, orders.drain)
        if result.admitted:
            self._begin(result)
            self._exhausted = orders.once
            return not self._exhausted
        if result.unfinished:
            return True
        changes = self._tools.store.own_changes()
        self._refused_at = NEVER if result.yields or not looked else (version, changes)
        # What a condition shows that nobody has looked at yet may be a job to run.
        self._exhausted = looked and orders.once
        self._settled_at = changes if looked and result.settled and not self._owes() else UNREAD
        return False

    def _owes(self) -> bool:
        """Whether a job is still put off that it could not start: not by its user, who is waiting for it."""
        found = [(jobs.load(self._tools.store, job_id), due) for job_id, due in self._owed.items()]
        self._owed = {
            job.id: due
            for job, due in found
            if job is not None and job.phase == "queued" and job.in_line == NOT_IN_LINE and job.due == due
        }
        return bool(self._owed)

    def _worth_claiming(self) -> bool:
        """Whether there may be something to claim: nothing has changed since the last refusal if not.

        A worker that drains or runs one job asks in any case: the answer may be that it is done.
        """
        store, now = self._tools.store, self._tools.now()
        unchanged = (store.version(), store.own_changes()) == self._refused_at
        if unchanged and due.next_due(store, now) > 0:
            return overdue.pending(store, now)
        if self._orders.drain or self._orders.once:
            return True
        return claim.worth_claiming(store, self._orders.queues, now)

    def _waits_for_others(self) -> bool:
        return True

    def _is_quiet(self) -> bool:
        """A worker has deadlines of jobs in mind that nobody owns, and looks for them in each round."""
        return False

    def _has_room(self) -> bool:
        return self._free_places() > 0

    def _free_places(self) -> int:
        return self._limit - sum(task.holds_slots for task in self.tasks)

    def _look_afresh(self) -> None:
        super()._look_afresh()
        self._gates_seen_at = UNREAD

    def _adopt_gates(self) -> None:
        """Others make jobs whose conditions nobody looks at, and so does the burial of those who did."""
        if self._version == self._gates_seen_at:
            return
        looking = sum(not task.holds_slots for task in self.tasks)
        found = claim.adopt_gates(self._tools, self._orders.queues, claim.GATES_AT_MOST - looking)
        for job_id in found:
            job = jobs.load(self._tools.store, job_id)
            if job is not None:  # else it was cancelled and pruned at once
                self.tasks.append(Task(self._tools, job))
        self._gates_seen_at = UNREAD if looking or found else self._version

    def _heed_stops(self) -> None:
        if self._stops_asked > self._stops_heeded:
            if not self._stops_heeded:
                self._exhausted = True
                with faults.commit("stop_accepting", self._tools.store.writing(durable=False)):
                    owners.stop_accepting(self._tools.store, self._tools.owner)
            if self._stops_asked > 1:
                for task in self.tasks:
                    task.stop("requeued")
            self._stops_heeded = self._stops_asked

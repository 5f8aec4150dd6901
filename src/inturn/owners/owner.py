"""A process that owns jobs: its rounds of work and sleep, its lease, its poll of the store."""

from __future__ import annotations

import os

from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.polling import BASE_INTERVAL, LONGEST_INTERVAL, jittered, poll_interval
from inturn.errors import InturnError
from inturn.host import diary, faults, wake
from inturn.owners import vigil
from inturn.owners.task import Task
from inturn.store import admissions, jobs, owners
from inturn.store.transaction import CommitUnknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inturn.core.moment import Now
    from inturn.owners.tools import Tools

# How often the logs of live runs are measured (µs), so that the order of the streams can be told.
SAMPLE_EVERY = 100 * MILLISECOND

# How long an owner leaves a store alone that has just failed it (µs).
AFTER_ERROR = 200 * MILLISECOND

# How often an owner looks whether its store is still there (µs).
LOOK_FOR_STORE_EVERY = SECOND

# How often an owner counts how many there are (µs).
COUNT_EVERY = SECOND

# By so much the clocks may drift apart between two looks until that is taken for a jump of one of them (µs).
DRIFT = 100 * MILLISECOND

UNREAD = -1


class Owner:
    """Runs its tasks until they are done. `fifo` is where hints arrive."""

    def __init__(self, tools: Tools, fifo: int) -> None:
        self.tasks: list[Task] = []
        self._tools = tools
        self._fifo = fifo
        self._version = UNREAD
        self._interval = BASE_INTERVAL
        self._counted_at = -COUNT_EVERY
        self._uncounted = False
        self._is_to_scatter = False
        # What the store was like at the last round: its version, and our own changes before that round.
        self._looked_at = (UNREAD, UNREAD)
        # The version at which we have last looked for others that were not told, and from when on to do so.
        self._reminded_at = UNREAD
        self._remind_from = tools.now().mono + BASE_INTERVAL
        self._due = 0
        # How far the wall clock was ahead of the monotonic one at the last round.
        self._wall_ahead = 0
        self._told = True
        self._hinted = False
        self._renewed_at = -owners.RENEW_EVERY
        self._sample_at = 0
        self._look_for_store_at = 0
        self._cut_off = False
        self._failed = False
        self._noted: set[str] = set()
        self._look_at = tools.now().mono + owners.RENEW_EVERY

    def turn(self, extra: Sequence[int] = ()) -> set[int]:
        """Do everything that can be done now, if there may be anything; then sleep until there may be more.

        Returns those of the `extra` descriptors that have something to tell. Raises InturnError
        `store_unusable` if the store is gone and nothing runs: see `_wind_up`.
        """
        if not self._is_quiet():
            self._round()
            if self.finished():
                return set()
        wait = self._due - self._tools.now().mono
        watched = []
        if not self._failed:
            wait = min(wait, self._until_poll())
            watched = [fd for task in self.tasks for fd in task.descriptors()]
        ready = wake.wait([self._fifo, *watched, *extra], max(wait, 0))
        self._told = bool(ready)
        self._hinted = self._fifo in ready
        return ready.intersection(extra)

    def _until_poll(self) -> int:
        """How long to sleep at most (µs): an interval; the first time from a half of it to one and a half."""
        draw = self._tools.draw()
        if not self._is_to_scatter:
            return jittered(self._interval, draw)
        self._is_to_scatter = False
        return self._interval // 2 + int(draw * self._interval)

    def _is_quiet(self) -> bool:
        """Whether nothing can have come up since the last round: most polls of a crowd end here.

        Nobody has told us anything, it is not yet time for anything, and the store is as it was before that
        round: one that has changed something is followed by another one. Who has left slots to somebody else
        waits for what may never come.
        """
        now = self._tools.now()
        if self._told or now.mono >= self._due or self._has_jumped(now) or self._is_cut_off():
            return False
        if self._is_to_look(now):
            return False
        if self._uncounted or any(task.yields for task in self.tasks):
            return False
        store = self._tools.store
        try:
            seen = (store.version(), store.own_changes())
            return not store.stirred and seen == self._looked_at and seen[0] == self._reminded_at
        except InturnError:
            return False  # The round will meet it as well, and knows what to do.

    def _has_jumped(self, now: Now) -> bool:
        """Whether the wall clock was set, or the machine asleep: what waits for a time of day may be due."""
        return abs(now.wall - now.mono - self._wall_ahead) > DRIFT

    def _round(self) -> None:
        """Do everything that can be done now, and find out when there may be more."""
        store = self._tools.store
        # Before the store is looked at: a hint that comes later wakes us again.
        if self._hinted:
            self._hinted = False
            self._take_hints()
        if self._is_cut_off():
            self._wind_up()
        self._failed = False
        self._heed_clock()
        changes = store.own_changes()
        waits = self._work()
        self._looked_at = (self._version, changes)
        self._due = self._tools.now().mono + min(waits, default=LONGEST_INTERVAL)
        if not any(task.live for task in self.tasks):
            self._tools.engine.rest()
        # Whoever gets ready now does so while our runs have the machine.
        store.rouse()

    def _heed_clock(self) -> None:
        """Notice a jump of the wall clock."""
        now = self._tools.now()
        if self._has_jumped(now):
            self._wall_ahead = now.wall - now.mono
            self._after_a_jump()

    def _after_a_jump(self) -> None:
        """Others may not know that their time has come."""
        self._reminded_at = UNREAD

    def _take_hints(self) -> None:
        wake.drain(self._fifo)

    def _work(self) -> list[int]:
        """Do what can be done; returns the times until there may be more (µs)."""
        waits = self._attempt(self._observe)
        if self._failed:
            return waits
        waits += self._attempt(self._seek)
        # The end of a run may bring another task, which is looked at in the same round.
        done: list[Task] = []
        number = 0
        while number < len(self.tasks):
            task = self.tasks[number]
            waits += self._attempt(lambda task=task: self._advance(task))  # type: ignore[misc]
            if task.done:
                self.tasks.remove(task)
                done.append(task)
                if self._has_room():
                    waits.append(0)
            else:
                number += 1
        for task in (*done, *self.tasks):
            task.put_away()
        return waits + self._attempt(self._remind) + self._attempt(self._keep_up)

    def _attempt(self, act: Callable[[], list[int]]) -> list[int]:
        """Do something; if the store fails it, the rest goes on: signals, time limits, the lease.

        The store is locked, or its disk is full or failing. Nothing is forced: when the store can be read
        again, it says what was committed. What has not been seen before is written down: it may be a fault of
        ours.
        """
        try:
            return act()
        except (InturnError, CommitUnknown) as error:
            if str(error) not in self._noted:
                self._noted.add(str(error))
                diary.note(os.path.join(self._tools.directory, diary.FILE_NAME), error)
            self._look_afresh()
            self._failed = True
            return [AFTER_ERROR]

    def _advance(self, task: Task) -> list[int]:
        wait = task.advance()
        return [] if wait is None else [wait]

    def _has_room(self) -> bool:
        """Whether to go on at once when a task is done. Without tasks, an owner may have reached its end."""
        return True

    def _seek(self) -> list[int]:
        """Look for more to do; returns when to look again (µs). A supervisor has its one job."""
        return []

    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return not self.tasks

    def _observe(self) -> list[int]:
        """Look at the store. When to do so again is not for a round to say: see `turn`."""
        self._take_notice()
        return []

    def _take_notice(self) -> None:
        """Read again what has changed: whatever others have committed shows in the version of the store."""
        store = self._tools.store
        stirred, store.stirred = store.stirred, set()
        version = store.version()
        if version == self._version:
            if self._uncounted:
                self._find_interval()
            for task in self.tasks:
                if task.job.id in stirred:
                    task.reload()
            return
        was_unread, self._version = self._version == UNREAD, version
        self._find_interval()
        for task in self.tasks:
            task.reload()
        if was_unread:
            self._find_own_jobs()

    def _find_interval(self) -> None:
        """The larger the crowd, the rarer its looks; and a crowd is not counted at each of them."""
        now = self._tools.now().mono
        self._uncounted = now - self._counted_at < COUNT_EVERY
        if not self._uncounted:
            crowd, looks = owners.crowd(self._tools.store)
            self._tools.store.expect(crowd)
            self._counted_at = now
            before, self._interval = self._interval, poll_interval(self._sharers(crowd), looks)
            if self._interval > before * 11 // 10:
                # Those who have come at the same time would all look at the same time, and nobody else.
                self._is_to_scatter = True
                self._look_at = now + int(self._tools.draw() * self._between_looks())
            else:
                # When a crowd has gone, those that are left have to look in its place.
                self._look_at = min(self._look_at, now + self._between_looks())

    def _sharers(self, crowd: int) -> int:
        """How many of all the owners look at the store as we do."""
        return crowd

    def _remind(self) -> list[int]:
        """Have those told who may be admitted now and do not know: who should have told them may have died.

        One poll does this for all, so that nobody in a crowd need poll often. While others tell us what
        happens, and more than once in an interval, it is left to those who poll.
        """
        now = self._tools.now()
        if self._told or self._reminded_at == self._version or now.mono < self._remind_from or self._cut_off:
            return []
        self._remind_from = now.mono + jittered(self._interval, self._tools.draw())
        store = self._tools.store
        store.wake_at_leisure(admissions.overlooked(store, self._tools.owner, now))
        self._reminded_at = self._version
        return []

    def _between_looks(self) -> int:
        """How long not to look for the dead (µs)."""
        return jittered(
            max(owners.RENEW_EVERY, vigil.POLLS_BETWEEN_LOOKS * self._interval), self._tools.draw()
        )

    def ask_to_stop(self) -> None:
        """Begin nothing more. The owner of one job has nothing else to begin."""

    def _is_cut_off(self) -> bool:
        """Whether the store was removed or replaced, which is looked at every so often."""
        now = self._tools.now()
        if not self._cut_off and now.mono >= self._look_for_store_at:
            self._look_for_store_at = now.mono + LOOK_FOR_STORE_EVERY
            if not self._tools.store.is_in_place():
                self._cut_off = True
                self._tools.store.before_writing = self._refuse_to_begin
                self.ask_to_stop()
        return self._cut_off

    def _wind_up(self) -> None:
        """Without its store, an owner has nothing to wait for, and nothing that it begins would be known.

        Only what runs is still seen to its end, with its time limits, its stops and its leftovers, and goes
        into the file that nobody else sees. If not even that can be written, its end is all that is awaited.
        """
        for task in list(self.tasks):
            if not task.live or (self._failed and not task.descriptors()):
                task.let_go()
                task.put_away()
                self.tasks.remove(task)
        self._refuse_to_begin()

    def _refuse_to_begin(self) -> None:
        if not any(task.live for task in self.tasks):
            raise InturnError(
                "store_unusable",
                f"{self._tools.store.path} is gone, or another file is in its place",
                "If the store was moved, its jobs can be taken over there: inturn --dir PLACE recover",
            )

    def _look_afresh(self) -> None:
        """Read everything again in the next round, whatever the version of the store."""
        self._version = UNREAD

    def _find_own_jobs(self) -> None:
        """Take care of jobs that are ours unbeknown to us: the commit that made them so seemed to fail."""
        known = {task.job.id for task in self.tasks}
        for job in jobs.owned_by(self._tools.store, self._tools.owner):
            if job.id not in known:
                self.tasks.append(Task(self._tools, job))

    def _keep_up(self) -> list[int]:
        """Measure the logs of live runs and renew the lease; returns when to do so again."""
        self._look_around()
        waits = []
        now = self._tools.now()
        if any(task.live for task in self.tasks):
            if now.mono >= self._sample_at:
                self._sample_at = now.mono + SAMPLE_EVERY
                for task in self.tasks:
                    task.sample()
            waits.append(self._sample_at - now.mono)
        if any(task.holds_slots for task in self.tasks):
            waits.append(self._keep_lease(now))
        return waits

    def _keep_lease(self, now: Now) -> int:
        """Renew the lease if that is due; returns when it is due again (µs)."""
        by, at = self._tools.store.leased
        # Whoever has just taken slots has renewed it with that.
        since = max(self._renewed_at, at) if by == self._tools.owner else self._renewed_at
        if now.mono - since >= owners.RENEW_EVERY:
            self._renew(now)
            since = self._renewed_at
        return since + owners.RENEW_EVERY - now.mono

    def _is_to_look(self, now: Now) -> bool:
        """Whether to see if somebody has died who is in the way: at a poll, but not at each.

        Only those look who wait for slots, and workers: a job that runs is held up by nobody.
        """
        return now.mono >= self._look_at and not self._cut_off and self._waits_for_others()

    def _look_around(self) -> None:
        now = self._tools.now()
        if self._is_to_look(now):
            tools = self._tools
            self._look_at = now.mono + self._between_looks()
            if vigil.anyone_dead(tools.store, tools.directory, now, tools.draw()):
                tools.bury_the_dead()
                # What was theirs shows in no version that others have made.
                self._look_afresh()

    def _waits_for_others(self) -> bool:
        return any(task.job.phase in ("queued", "waiting") for task in self.tasks)

    def _renew(self, now: Now) -> None:
        with faults.commit("renew", self._tools.store.writing(durable=False)):
            owners.renew_lease(self._tools.store, self._tools.owner, now)
        self._renewed_at = now.mono

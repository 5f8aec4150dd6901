"""Looking at the store for supervisors that sleep and have not opened it, and waking whom something concerns.

Hints go to the sleepers themselves. The nurse sees to what each would otherwise find by its own polls: a time
that has come, a hint that was lost, an owner that has died. It owns no job, and nothing is lost with it: if
it dies, its sleepers are woken, and poll.
"""

from __future__ import annotations

from inturn.core import decide
from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.polling import jittered
from inturn.core.transitions import holds_slots
from inturn.host import brood, faults, wake
from inturn.owners import vigil
from inturn.owners.admit import NEXT, is_refused, prospect
from inturn.owners.owner import UNREAD, Owner
from inturn.store import admissions, gates, jobs, owners, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.spec import Spec
    from inturn.owners.tools import Tools

# After a change of the store nobody is looked at again for so long, times the number of sleepers (µs). A look
# takes some twenty microseconds for each: however much happens, the nurse is idle nearly always.
PAUSE_FOR_EACH = 5 * MILLISECOND

# Who is called and does not wake for so long (µs) cannot be called: its FIFO is gone, or hints get lost.
DEAF_AFTER = 5 * SECOND

# A nurse looks at the store at least as often as one of so few: there are not many nurses, and those who
# sleep elsewhere, whom it cannot tell from others, do not look.
SHARERS = 5

# How often it sees whether somebody has died (µs): it does so for many.
LOOK_EVERY = SECOND


class Charge:
    """A supervisor that sleeps, and its job as it was last read. `due` is when that needs its owner (µs)."""

    def __init__(self, token: str, job: Job, spec: Spec) -> None:
        self.token = token
        self.job = job
        self.spec = spec
        self.due: int | None = None


class Nurse(Owner):
    """An owner of nothing. `beds` is for `brood.awake`; `tokens` name the sleepers, by their numbers."""

    def __init__(self, tools: Tools, beds: int, tokens: Sequence[str]) -> None:
        super().__init__(tools, beds)
        self._beds = beds
        self._tokens = tokens
        self._newcomers = list(tokens)
        self._charges: list[Charge] = []
        # Who was called and is not awake yet, with the instant from which on it passes for deaf.
        self._called: dict[str, int] = {}
        self._is_over = False
        self._visited_at = UNREAD
        self._visit_from = 0

    def finished(self) -> bool:
        """Whether there is nobody left to look after, or somebody who wakes only when the nurse has gone."""
        return self._is_over or not (self._newcomers or self._charges)

    def _take_hints(self) -> None:
        awake = {self._tokens[number] for number in brood.awake(self._beds)}
        self._is_over = self._is_over or not awake
        self._newcomers = [token for token in self._newcomers if token not in awake]
        self._charges = [one for one in self._charges if one.token not in awake]
        self._called = {token: since for token, since in self._called.items() if token not in awake}

    def _seek(self) -> list[int]:
        """Wake those whom something concerns; returns when that may be so again without the poll (µs)."""
        now = self._tools.now()
        while self._newcomers:
            self._receive(self._newcomers[-1], now)
            self._newcomers.pop()
        waits = []
        if self._visited_at != self._version:
            if now.mono < self._visit_from:
                waits.append(self._visit_from - now.mono)
            else:
                self._visit(now)
        for one in [one for one in self._charges if one.due is not None and one.due <= now.mono]:
            self._wake(one, now)
        self._is_over = self._is_over or self._is_anyone_deaf(now)
        waits += [one.due - now.mono for one in self._charges if one.due is not None]
        return waits + [deaf - now.mono for deaf in self._called.values()]

    def _is_anyone_deaf(self, now: Now) -> bool:
        if all(now.mono < deaf for deaf in self._called.values()):
            return False
        if wake.wait([self._beds], 0):
            self._take_hints()  # It may have woken just now.
        self._called = {token: deaf for token, deaf in self._called.items() if self._may_hear(token)}
        return any(deaf <= now.mono for deaf in self._called.values())

    def _may_hear(self, token: str) -> bool:
        """Whether it is not known to have died."""
        owner = owners.by_token(self._tools.store, token)
        return owner is not None and vigil.verdict(self._tools.directory, owner) != "dead"

    def _receive(self, token: str, now: Now) -> None:
        """Get to know a sleeper; one that has something to do is woken."""
        store = self._tools.store
        owner = owners.by_token(store, token)
        found = [] if owner is None else jobs.owned_by(store, owner.id)
        if not found or found[0].phase == "submitting" or found[0].conditional or holds_slots(found[0]):
            # Nothing was submitted to it, or that is not accepted yet, or it has to look at something itself:
            # at a condition, or at the run that a dead owner has left it.
            self._call(token, now)
            return
        one = Charge(token, found[0], specs.load(store, found[0].id))
        self._charges.append(one)
        wanted = self._next_step(one, now)
        if wanted == "request" and not self._is_its_turn(one):
            return
        if wanted != "sleep":
            self._wake(one, now)

    def _visit(self, now: Now) -> None:
        """Find out whom a change of the store concerns."""
        self._visited_at = self._version
        self._visit_from = now.mono + PAUSE_FOR_EACH * len(self._charges)
        in_line = []
        for one in list(self._charges):
            if not jobs.is_at(self._tools.store, one.job):
                self._see_off(one, now)
                continue
            wanted = self._next_step(one, now)
            if wanted == "request":
                in_line.append(one)
            elif wanted != "sleep":
                self._wake(one, now)
        # Who stands behind the first of them has nothing to do before that one has.
        first = min(in_line, key=lambda one: admissions.request_of(one.job).place, default=None)
        if first is not None and self._is_its_turn(first):
            self._wake(first, now)
        faults.point("nurse.visited")

    def _next_step(self, one: Charge, now: Now) -> str:
        """The kind of what its owner is to do now, see `decide.Step`; when there is more is noted."""
        edges = gates.edges(self._tools.store, one.job.id) if one.job.phase == "waiting" else []
        step = decide.before_run(one.job, one.spec, edges, (), {}, now)
        one.due = None if step.wait is None else now.mono + step.wait
        return step.kind

    def _is_its_turn(self, one: Charge) -> bool:
        """Whether it is to ask for its slots itself: it may get them, or it has to see whether others do."""
        decision = prospect(self._tools.store, one.job)
        # Who is next in line gets ready.
        return decision is None or decision.reason == NEXT.reason or not is_refused(decision)

    def _see_off(self, one: Charge, now: Now) -> None:
        """Its job has changed: it is woken, unless it runs that already."""
        fresh = jobs.load(self._tools.store, one.job.id)
        if fresh is not None and fresh.owner == one.job.owner and holds_slots(fresh):
            self._charges.remove(one)
        else:
            self._wake(one, now)

    def _wake(self, one: Charge, now: Now) -> None:
        self._charges.remove(one)
        self._call(one.token, now)

    def _call(self, token: str, now: Now) -> None:
        self._called[token] = now.mono + DEAF_AFTER
        self._tools.store.wake_at_leisure([token])

    def _look_afresh(self) -> None:
        super()._look_afresh()
        self._visited_at = UNREAD

    def _after_a_jump(self) -> None:
        super()._after_a_jump()
        self._visited_at = UNREAD

    def _sharers(self, crowd: int) -> int:
        """Those who sleep look at nothing."""
        return min(crowd - len(self._newcomers) - len(self._charges) + 1, SHARERS)

    def _between_looks(self) -> int:
        return jittered(LOOK_EVERY, self._tools.draw())

    def _waits_for_others(self) -> bool:
        return True

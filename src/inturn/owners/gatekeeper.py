"""What one job waits for, in the hands of its owner: its edges, its wait conditions, the probes that run."""

from __future__ import annotations

from inturn.core.environment import job_environment
from inturn.host import faults, spawn, tree
from inturn.store import gates, owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.conditions.base import Observation, Pending
    from inturn.core.job import Condition, Edge
    from inturn.core.moment import Now
    from inturn.core.spec import Spec
    from inturn.owners.tools import Tools


class Gatekeeper:
    """The gates of a job as they were last read, and what is under way to look at them.

    `next_look` has, by position, when a condition is to be looked at again (monotonic µs). `acted_upon` says
    whether the owner has decided on the job since the edges were read.
    """

    def __init__(self, tools: Tools, job_id: int) -> None:
        self.edges: list[Edge] = []
        self.conditions: list[Condition] = []
        self.next_look: dict[int, int] = {}
        self.acted_upon = False
        self._tools = tools
        self._store = tools.store
        self._job_id = job_id
        self._pending: dict[int, tuple[Condition, Pending]] = {}
        self._seen: set[int] = set()

    @property
    def has_looked(self) -> bool:
        """Whether the gates, as they were last read, have been acted upon by this owner.

        All wait conditions that were due have then been looked at, at least once.
        """
        return self.acted_upon and self._seen.issuperset(self._pending)

    def load(self, conditional: bool) -> None:
        """Read the gates of a job that waits; `conditional`: whether it has wait conditions."""
        edges = gates.edges(self._store, self._job_id)
        if edges != self.edges:
            self.acted_upon = False  # They may let it into the line.
        self.edges = edges
        if conditional:
            self.conditions = gates.conditions(self._store, self._job_id)
            # Most jobs have none. Not when one is due: it might be that of a newer version by then.
            from inturn import conditions  # noqa: F401
            from inturn.owners import remains  # noqa: F401

    def descriptors(self) -> list[int]:
        """What becomes readable when a probe has something to tell."""
        return [fd for _, pending in self._pending.values() for fd in pending.filenos()]

    def take_receipts(self, now: Now) -> None:
        """Note for good what the parents that have ended came to."""
        with faults.commit("receipts", self._store.writing()):
            gates.write_receipts(self._store, self._job_id, now)
        self.edges = gates.edges(self._store, self._job_id)

    def look(self, wanted: tuple[Condition, ...], spec: Spec, now: Now) -> None:
        """Look at wait conditions; one that takes time goes on by itself, see `collect`."""
        from inturn import conditions

        environment = {**job_environment(spec), tree.COOKIE: self._probe_cookie()}
        surroundings = conditions.Surroundings(spec.cwd, environment, spec.probe_timeout)
        for condition in wanted:
            seen = conditions.start(condition, surroundings, now)
            if isinstance(seen, conditions.Observation):
                self._observed(condition, seen, spec, now)
            else:
                self._pending[condition.position] = (condition, seen)
                spawn.awaited.add(seen.pid)
                # Until it has ended, nobody starts it again.
                self.next_look[condition.position] = seen.deadline

    def collect(self, spec: Spec, now: Now) -> None:
        """Store what probes have shown that have ended."""
        for position, (condition, pending) in list(self._pending.items()):
            seen = pending.poll(now)
            if seen is not None:
                del self._pending[position]
                spawn.awaited.discard(pending.pid)
                self._observed(condition, seen, spec, now)

    def abandon(self) -> None:
        """End the probes that run: the job is in other hands from now on, or in nobody's."""
        for _, pending in self._pending.values():
            pending.abandon()
            spawn.awaited.discard(pending.pid)
        self._pending = {}

    def _probe_cookie(self) -> bytes:
        """By which our probes are found if we die before they end; nothing of them belongs to a run."""
        from inturn.owners.remains import probe_cookie

        me = owners.load(self._store, self._tools.owner)
        return b"" if me is None else probe_cookie(me.token)

    def _observed(self, condition: Condition, seen: Observation, spec: Spec, now: Now) -> None:
        self.next_look[condition.position] = now.mono + spec.wait_poll
        self._seen.add(condition.position)
        fresh = condition._replace(
            satisfied_at=now.wall if seen.satisfied else None,
            observed_at=now.wall,
            diagnostic=seen.diagnostic,
        )
        with faults.commit("observe", self._store.writing(durable=seen.satisfied)):
            gates.write_observation(self._store, fresh)
        self.conditions = [fresh if known.position == fresh.position else known for known in self.conditions]

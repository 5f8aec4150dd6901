"""Gathering what explains a job: its own facts, those of the jobs it waits for, and who is alive."""

from __future__ import annotations

from inturn.core.admission import STORE, decide
from inturn.core.explain import Facts, follow
from inturn.core.explain_line import COUNTED, NAMED, Place
from inturn.core.job import NOT_IN_LINE
from inturn.core.reasons import Agent
from inturn.core.views import as_of
from inturn.host import pulse
from inturn.host.paths import owner_files
from inturn.store import admissions, held, jobs, lanes, reads, roster, settings, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.roster import Member
    from inturn.core.views import Keeper, Scope, View
    from inturn.service.context import Context
    from inturn.store.db import Store

# The facts of at most so many jobs are gathered: a graph may be large, and a person reads the answer.
MOST_JOBS = 200


class Gatherer:
    """Collects facts inside the caller's read transaction; liveness is looked at once that is over."""

    def __init__(self, context: Context, store: Store, now: Now) -> None:
        self._store = store
        self._now = now
        self._directory = context.directory
        self._config_path = context.config_path
        self._scopes: tuple[Scope, ...] = ()
        self._found: dict[int, Facts] = {}
        self._keepers: dict[int, Keeper] = {}
        self._servers: dict[str, tuple[Keeper, ...]] = {}

    def gather(self, job_id: int) -> None:
        """Read the job and, level by level, the jobs that it waits for."""
        level = [job_id]
        while level:
            loaded = (jobs.load(self._store, each) for each in level[: MOST_JOBS - len(self._found)])
            seen = [as_of(job, self._now) for job in loaded if job is not None]
            for view in reads.views(self._store, seen, detailed=True):
                self._add(view)
            wanted = (parent for job in seen for parent in follow(self._found[job.id]))
            level = [parent for parent in dict.fromkeys(wanted) if parent not in self._found]

    def facts(self) -> Mapping[int, Facts]:
        """What was gathered, with the verdict on each owner. Looks at files: call it outside transactions."""
        return {job_id: self._judged(facts) for job_id, facts in self._found.items()}

    def _judged(self, facts: Facts) -> Facts:
        job = facts.job
        facts = facts._replace(agent=self._agent(job.id))
        servers = self._servers.get(job.queue, ())
        if not servers or any(life(self._directory, one) != "dead" for one in servers):
            return facts._replace(place=facts.place and self._without_the_dead(facts.place))
        # They are still in the registry, because nobody has looked yet.
        place = facts.place and facts.place._replace(workers="none")
        return facts._replace(place=place, workers="none")

    def _without_the_dead(self, place: Place) -> Place:
        living = (one for one in place.servers if life(self._directory, one.keeper) != "dead")
        return place._replace(servers=tuple(living))

    def _add(self, view: View) -> None:
        job = view.job
        if view.keeper is not None:
            self._keepers[job.id] = view.keeper
        in_line = job.phase == "queued" and job.in_line != NOT_IN_LINE
        self._found[job.id] = Facts(
            job=job,
            spec=specs.load(self._store, job.id),
            edges=view.edges,
            conditions=view.conditions,
            last_run=view.last_run,
            place=self._place(job) if in_line else None,
            workers=self._workers(job.queue),
        )
        if job.queue not in self._servers:
            servers = reads.keepers(self._store, lanes.servers(self._store, job.queue))
            self._servers[job.queue] = tuple(servers.values())

    def _place(self, job: Job) -> Place:
        mine = admissions.request_of(job)
        room, competing = admissions.view(self._store, mine)
        paused = held.load(self._store).over(job.queue, job.pool)
        decision = admissions.PAUSED if paused else decide(mine, competing, room)
        other = None if decision.other is None else jobs.load(self._store, decision.other.job_id)
        everywhere = STORE in room.limits
        finite = everywhere or job.pool in room.limits
        workers = self._workers(job.queue)
        busy = workers == "busy"
        before, first = reads.ahead(self._store, mine, everywhere, NAMED, COUNTED) if finite else (0, [])
        return Place(
            mine=mine,
            decision=decision,
            capacity=room,
            other_name=None if other is None else other.name,
            before=before,
            first=tuple(first),
            scopes=self._all_scopes(),
            config_path=self._applied_file(),
            workers=workers,
            held=paused,
            servers=self._servers_of(job.queue) if busy else (),
            occupied=tuple(reads.holders(self._store, queue=job.queue)) if busy else (),
            siblings=tuple(reads.holders(self._store, array=job.throttle)) if job.throttle else (),
        )

    def _servers_of(self, queue: str) -> tuple[Member, ...]:
        return tuple(one for one in roster.members(self._store) if queue in one.queues and one.accepting)

    def _all_scopes(self) -> tuple[Scope, ...]:
        if not self._scopes:
            self._scopes = tuple(reads.scopes(self._store, {}))
        return self._scopes

    def _applied_file(self) -> str:
        applied = settings.applied(self._store)
        return self._config_path if applied is None else applied.path

    def _workers(self, queue: str) -> str:
        if not queue:
            return ""
        if queue in admissions.served_queues(self._store):
            return "free"
        return "busy" if queue in lanes.served(self._store) else "none"

    def _agent(self, job_id: int) -> Agent | None:
        keeper = self._keepers.get(job_id)
        if keeper is None:
            return None
        verdict = life(self._directory, keeper)
        stopped = verdict == "alive" and pulse.is_stopped(keeper.identity)
        return Agent(keeper.kind, keeper.pid, verdict, stopped)


def life(directory: str, keeper: Keeper) -> str:
    """Whether an owner is `alive`, `dead` or `unknown`: by its lock, else by its identity."""
    if keeper.gone_at is not None:
        return "dead"
    lock_path, _ = owner_files(directory, keeper.token)
    return pulse.verdict(lock_path, keeper.lock_dev, keeper.lock_ino, keeper.identity)

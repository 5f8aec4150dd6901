"""What a submission would come to: it is stored, led to the line, looked at, and all of it is undone.

So a dry run says nothing that the submission itself would not say. The one thing it does not do is to run
probes: they are the user's commands.
"""

from __future__ import annotations

from inturn import conditions
from inturn.conditions import Observation, Surroundings
from inturn.core import transitions
from inturn.core.decide import before_run
from inturn.core.environment import job_environment
from inturn.core.explain import explain
from inturn.core.job import Condition
from inturn.core.views import Dossier, as_of
from inturn.host import store_dir
from inturn.service import configure
from inturn.service.defaults import submission_rules
from inturn.service.facts import Gatherer
from inturn.service.intake import draft_all, store_all
from inturn.store import due, gates, jobs, reads, settings, specs
from inturn.store.db import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from inturn.config import Config
    from inturn.core.moment import Now
    from inturn.core.spec import Submission
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# Of a large array so many jobs are described: the rest is like them.
DESCRIBED = 100


class Preview(NamedTuple):
    """What would be stored (its id stands for nothing), and whether it would start at once.

    `twin` is the job under way with the same key, whose id would be answered instead: then nothing would be
    stored, and there is no dossier.
    """

    dossier: Dossier | None
    starts: bool
    twin: int | None = None


class _Undo(Exception):
    """Takes everything back that was written."""


def defaults(context: Context) -> dict[str, object]:
    """The defaults for a submission, without applying the configuration file. Raises `config_invalid`."""
    read = configure.load_if_any(context, submission_rules(context))
    return {} if read is None else dict(read.defaults)


def preview(context: Context, submissions: Sequence[Submission]) -> list[Preview]:
    """What would become of a submission of one job or many; the first DESCRIBED of them.

    Nothing is left behind, not even a store where there is none. Raises InturnError for everything for which
    the submission would be refused.
    """
    if context.store is not None:
        return _preview(context, context.store, submissions)
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="inturn-") as directory:
        store_dir.create_store_dirs(directory)
        store = open_store(directory, _ring_nobody)
        try:
            return _preview(context._replace(directory=directory, store=store), store, submissions)
        finally:
            store.close()


def _ring_nobody(_tokens: object) -> None:
    pass


def _preview(context: Context, store: Store, submissions: Sequence[Submission]) -> list[Preview]:
    now = context.now()
    read = configure.load_if_any(context, submission_rules(context))
    observations = [_look_at_files(one, now) for one in submissions]
    drafts = draft_all(submissions, owned=False, now=now)
    found: list[Preview | tuple[Dossier, Gatherer]] = []
    try:
        with store.writing(durable=False):
            if read is not None:
                _apply(context, store, read)
            stored, twins = store_all(context, drafts, [None] * len(drafts), now)
            for at, seen in enumerate(observations):
                if at not in twins:
                    _lead_to_the_line(store, stored[at], seen, now)
            due.promote(store, now)
            for at, job_id in enumerate(stored[:DESCRIBED]):
                if at in twins:
                    found.append(Preview(None, False, job_id))
                    continue
                gatherer = Gatherer(context, store, now)
                gatherer.gather(job_id)
                found.append((_describe(store, job_id, submissions[at].key, now), gatherer))
            raise _Undo
    except _Undo:
        return [one if isinstance(one, Preview) else _judge(*one, now) for one in found]


def _judge(dossier: Dossier, gatherer: Gatherer, now: Now) -> Preview:
    job_id = dossier.view.job.id
    known = gatherer.facts()
    place = known[job_id].place
    starts = place is not None and place.decision.admitted and place.workers in ("", "free")
    return Preview(dossier._replace(reasons=explain(job_id, known, now)), starts)


def _look_at_files(submission: Submission, now: Now) -> dict[int, Observation]:
    """What each condition shows at once, by position. Looked at before the transaction, as owners do."""
    spec = submission.spec
    where = Surroundings(spec.cwd, job_environment(spec), spec.probe_timeout)
    seen = {}
    for position, wanted in enumerate(submission.conditions):
        if wanted.kind == "probe":
            seen[position] = Observation(False, "not run in a dry run")
        elif wanted.kind == "file":
            found = conditions.start(Condition(0, position, "file", wanted.argument), where, now)
            assert isinstance(found, Observation)
            seen[position] = found
    return seen


def _apply(context: Context, store: Store, read: Config) -> None:
    """The capacities as a submission would find them: those of a file that has changed are applied first."""
    known = settings.applied(store)
    if known is not None and known.path != context.config_path:
        return
    for change in configure.plan(settings.pools(store), read):
        if change.after is not None:
            settings.set_pool(store, change.after)
        elif not settings.live_jobs_in(store, change.name):
            settings.remove_pool(store, change.name)


def _lead_to_the_line(store: Store, job_id: int, observations: dict[int, Observation], now: Now) -> None:
    """Do what the job's owner would do at once, up to the request for slots."""
    spec = specs.load(store, job_id)
    looked_at = dict.fromkeys(observations, now.mono + spec.wait_poll)
    for condition in gates.conditions(store, job_id):
        seen = observations.get(condition.position)
        if seen is None and condition.due.reached(now):
            seen = Observation(True, "its time has come")
        if seen is not None:
            satisfied_at = now.wall if seen.satisfied else None
            gates.write_observation(
                store,
                condition._replace(
                    satisfied_at=satisfied_at, observed_at=now.wall, diagnostic=seen.diagnostic
                ),
            )
    while True:
        job = jobs.load(store, job_id)
        assert job is not None
        if job.phase not in ("waiting", "queued"):
            return
        waits_for = gates.edges(store, job_id), gates.conditions(store, job_id)
        step = before_run(job, spec, *waits_for, looked_at, now)
        if step.kind == "receipts":
            gates.write_receipts(store, job.id, now)
        elif step.event is not None:
            jobs.commit(store, [transitions.apply(job, step.event, now)], now)
        else:
            return


def _describe(store: Store, job_id: int, key: str | None, now: Now) -> Dossier:
    job = jobs.load(store, job_id)
    assert job is not None
    (view,) = reads.views(store, [as_of(job, now)], detailed=True)
    return Dossier(view, specs.load(store, job_id), key, None, (), ())

"""What the ledger proves about jobs that have run: that limits held, and order, and pauses, and how it ended.

Entries are ordered by their ids: transactions are committed one after the other, so that what a smaller id
says was so before what a larger one says. Their times are readings of the wall clock, taken just before each
commit. A claim about nothing does not hold: a pool that nobody used proves no limit.
"""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.core.duration import format_duration
from inturn.core.job import ACTIVE
from inturn.core.moment import MILLISECOND
from inturn.core.phrases import label, slots
from inturn.core.retry import retry_delay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NamedTuple

    from inturn.core.job import Edge
    from inturn.core.retry import Policy
    from inturn.core.views import LedgerEntry, View
else:
    from inturn.core.records import NamedTuple

# A pause is measured on the monotonic clock, and the ledger has the times of the wall clock: they may differ
# by what separates two readings, and by what the system does to keep the wall clock right.
CLOCKS_DIFFER = 10 * MILLISECOND


class Claim(NamedTuple):
    """Something that was promised, whether the ledger bears it out, and what in the ledger says so."""

    text: str
    holds: bool
    evidence: str


class Hold(NamedTuple):
    """A job's hold on its slots: the entry that began it and the one that ended it, None if it goes on."""

    job_id: int
    begun: LedgerEntry
    ended: LedgerEntry | None


class Ledger(NamedTuple):
    """The entries of some jobs in their order, the jobs, and their policies by job id."""

    entries: Sequence[LedgerEntry]
    views: Sequence[View]
    policies: Mapping[int, Policy]

    @property
    def origin(self) -> int:
        """The time of the first entry, from which the others are told, in wall microseconds."""
        return self.entries[0].at if self.entries else 0

    def of(self, job_id: int) -> list[LedgerEntry]:
        """The entries of one job."""
        return [entry for entry in self.entries if entry.job_id == job_id]

    def told(self, entry: LedgerEntry) -> str:
        """When an entry was written, for people."""
        return "+" + _rounded(entry.at - self.origin)


def prove(ledger: Ledger, limits: Mapping[str, int]) -> tuple[Claim, ...]:
    """Judge what is promised of these jobs. `limits` are the finite ones by scope, '' for the whole store."""
    held = holds(ledger.entries)
    asked = {view.job.pool for view in ledger.views} | {STORE}
    claims = [
        _within(ledger, held, scope, limits[scope])
        for scope in sorted(asked, reverse=True)
        if scope in limits
    ]
    claims += [_in_order(ledger, held, parent) for parent in _parents(ledger)]
    return (*claims, _nothing_held_in_pauses(ledger, held), _all_succeeded(ledger))


def holds(entries: Iterable[LedgerEntry]) -> list[Hold]:
    """Every hold on slots, by its beginning. A job that is paused in the middle of a run keeps its slots."""
    begun: dict[int, LedgerEntry] = {}
    found = []
    for entry in entries:
        since = begun.get(entry.job_id)
        if entry.target in ACTIVE or (entry.target == "paused" and since is not None):
            begun.setdefault(entry.job_id, entry)
        elif since is not None:
            found.append(Hold(entry.job_id, begun.pop(entry.job_id), entry))
    found.extend(Hold(job_id, entry, None) for job_id, entry in begun.items())
    return sorted(found, key=lambda hold: hold.begun.id)


def _within(ledger: Ledger, held: Sequence[Hold], scope: str, limit: int) -> Claim:
    """Walk through the beginnings and ends of the holds, and remember where most slots were in use."""
    taken = {view.job.id: view.job.slots for view in ledger.views if scope in (STORE, view.job.pool)}
    steps = [(hold.begun, True) for hold in held if hold.job_id in taken]
    steps += [(hold.ended, False) for hold in held if hold.job_id in taken and hold.ended is not None]
    using: list[int] = []
    most, peak = 0, ""
    for entry, begins in sorted(steps, key=lambda step: step[0].id):
        if not begins:
            using.remove(entry.job_id)
            continue
        using.append(entry.job_id)
        used = sum(taken[job_id] for job_id in using)
        if used > most:
            most, peak = used, f" at {ledger.told(entry)}: {_jobs(using)}"
    where = f"of pool {scope}" if scope else "of the whole store"
    return Claim(f"never more than {slots(limit)} {where} in use", 0 < most <= limit, f"at most {most}{peak}")


def _parents(ledger: Ledger) -> list[View]:
    wanted = {edge.parent_id for view in ledger.views for edge in view.edges}
    return [view for view in ledger.views if view.job.id in wanted]


def _in_order(ledger: Ledger, held: Sequence[Hold], parent: View) -> Claim:
    job = parent.job
    edges = [edge for view in ledger.views for edge in view.edges if edge.parent_id == job.id]
    outcome = edges[0].outcomes[0] if len({edge.outcomes for edge in edges}) == 1 else "end"
    text = f"what depends on {label(job.id, job.name)} started only after its {outcome}"
    end = next((entry for entry in reversed(ledger.of(job.id)) if entry.target == "completed"), None)
    if end is None:
        return Claim(text, False, f"job {job.id} has not ended")
    wrong = [problem for edge in edges for problem in _faults(ledger, held, edge, end, job.revision)]
    if wrong:
        return Claim(text, False, "; ".join(wrong))
    first = min((hold.begun for hold in held if hold.job_id in {edge.job_id for edge in edges}), key=_id)
    return Claim(
        text,
        True,
        f"{outcome} at {ledger.told(end)} (event {end.id}), first start at {ledger.told(first)} (event"
        f" {first.id}); {len(edges)} receipts name its revision {job.revision}",
    )


def _faults(
    ledger: Ledger, held: Sequence[Hold], edge: Edge, end: LedgerEntry, revision: int
) -> Iterator[str]:
    """What contradicts that this dependent waited for `end`, where the parent got its present revision."""
    first = next((hold.begun for hold in held if hold.job_id == edge.job_id), None)
    if first is None:
        yield f"job {edge.job_id} never started"
    elif first.id < end.id or first.at < end.at:
        yield (
            f"job {edge.job_id} started at {ledger.told(first)} (event {first.id}), before the end of job"
            f" {end.job_id} at {ledger.told(end)} (event {end.id})"
        )
    if not edge.satisfied:
        yield f"job {edge.job_id} has no receipt that satisfies it"
    elif edge.observed_revision != revision:
        yield f"the receipt of job {edge.job_id} names revision {edge.observed_revision}, not {revision}"


def _nothing_held_in_pauses(ledger: Ledger, held: Sequence[Hold]) -> Claim:
    seen: list[str] = []
    wrong: list[str] = []
    for view in ledger.views:
        entries = ledger.of(view.job.id)
        repeats = [entry for entry in entries if entry.kind == "repeated"]
        for count, repeated in enumerate(repeats, 1):
            pause = retry_delay(ledger.policies[view.job.id], count, 0)
            again = next(
                (entry for entry in entries if entry.id > repeated.id and entry.kind == "admitted"), None
            )
            fault, span = _judge_pause(view, held, repeated, again, pause)
            (wrong if fault else seen).append(f"job {view.job.id} {fault or span}")
    text = "no slot was held between a failed run and the next one"
    if wrong or not seen:
        return Claim(text, False, "; ".join(wrong) or "no run was repeated")
    return Claim(text, True, "; ".join(seen))


def _judge_pause(
    view: View, held: Sequence[Hold], repeated: LedgerEntry, again: LedgerEntry | None, pause: int
) -> tuple[str, str]:
    """What is wrong with a pause ('' if nothing), and how long it was. It counts from the end of the run."""
    if again is None:
        return f"was not admitted again after event {repeated.id}", ""
    between = [hold for hold in held if hold.job_id == view.job.id and _touches(hold, repeated.id, again.id)]
    if between:
        return f"held slots from event {between[0].begun.id} on, in its pause", ""
    run = next((run for run in view.runs if run.number == repeated.run), None)
    if run is None or run.finished_at is None:
        return f"has no end of the run that event {repeated.id} is about", ""
    passed = again.at - run.finished_at
    told = f"got slots again {_rounded(passed)} after the end of run {run.number}"
    asked = f"{format_duration(pause)} was asked for"
    if passed + CLOCKS_DIFFER < pause:
        return f"{told}, and {asked}", ""
    return "", f"{told} ({asked}), and held none in between"


def _touches(hold: Hold, after: int, before: int) -> bool:
    """Whether slots are held between two events, the end of a hold by the first of them apart."""
    return hold.begun.id < before and (hold.ended is None or hold.ended.id > after)


def _all_succeeded(ledger: Ledger) -> Claim:
    wrong = []
    for view in ledger.views:
        entries = ledger.of(view.job.id)
        last = entries[-1] if entries else None
        if last is None or last.target != "completed" or view.job.outcome != "success":
            wrong.append(f"job {view.job.id}: {view.job.status}")
    runs = ", ".join(f"job {view.job.id} in {len(view.runs)}" for view in ledger.views)
    evidence = "; ".join(wrong) or f"runs: {runs}"
    return Claim("every job succeeded", bool(ledger.views) and not wrong, evidence)


def _id(entry: LedgerEntry) -> int:
    return entry.id


def _jobs(ids: Sequence[int]) -> str:
    return ("job " if len(ids) == 1 else "jobs ") + ", ".join(map(str, ids))


def _rounded(us: int) -> str:
    """Microseconds to the millisecond, as `1.234s`."""
    return format_duration(round(us / MILLISECOND) * MILLISECOND)

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core import transitions
from inturn.core.bars import bars
from inturn.core.job import Edge, Run
from inturn.core.moment import MILLISECOND, SECOND, Now
from inturn.core.proof import CLOCKS_DIFFER, Claim, Ledger, holds, prove
from inturn.core.retry import Policy
from inturn.core.spec import Spec, Submission
from inturn.core.views import LedgerEntry, View

ORIGIN = 1_806_195_600_000_000
SPEC = Spec((b"true",), b"/", (), 0o022)
PARENT, FIRST, SECOND_SHARD, FLAKY = 1, 2, 3, 4
LIMITS = {"": 4, "analysis": 2}


class Story:
    """A ledger that is told event by event; each takes a tenth of a second unless it says when it was."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []
        self.at = 0.0

    def tell(self, job: int, kind: str, source: str, target: str, reason: str | None = None) -> LedgerEntry:
        self.at += 0.1
        entry = LedgerEntry(
            len(self.entries) + 1, job, ORIGIN + round(self.at * SECOND), kind, source, target, reason, 1
        )
        self.entries.append(entry)
        return entry

    def submit(self, job: int) -> None:
        self.tell(job, "submitted", "", "submitting")
        self.tell(job, "accepted", "submitting", "waiting")

    def admit(self, job: int) -> None:
        self.tell(job, "admitted", "queued", "starting")
        self.tell(job, "started", "starting", "running")

    def succeed(self, job: int) -> LedgerEntry:
        return self.tell(job, "ended", "running", "completed", "success")

    def end_of(self, job: int) -> int:
        return next(entry.at for entry in self.entries if entry.job_id == job and entry.source == "running")


def told_well() -> Story:
    """The pipeline as it should go: two shards at once, and one more that fails and pauses for a second."""
    story = Story()
    for job in (PARENT, FIRST, SECOND_SHARD, FLAKY):
        story.submit(job)
    story.admit(PARENT)
    story.succeed(PARENT)
    story.admit(FIRST)
    story.admit(FLAKY)
    story.tell(FLAKY, "repeated", "running", "queued", "failure")
    story.admit(SECOND_SHARD)
    story.succeed(FIRST)
    story.succeed(SECOND_SHARD)
    story.at += 1
    story.admit(FLAKY)
    story.succeed(FLAKY)
    return story


def view(job: int, story: Story, **changes: object) -> View:
    pool = "" if job == PARENT else "analysis"
    made = transitions.submit(Submission(SPEC, pool=pool), False, None, Now(ORIGIN, 0, "boot"))
    ended = any(entry.target == "completed" for entry in story.entries if entry.job_id == job)
    made = made._replace(id=job, revision=5, phase="completed" if ended else "running")
    made = made._replace(outcome="success" if ended else None)
    runs = (Run(job, 1, 1, 1, "", "", ORIGIN, "failure", 1, finished_at=story.end_of(job)),) if ended else ()
    receipt = Edge(job, PARENT, ("success",), "success", 5, ORIGIN, ORIGIN)
    found = View(made, (b"true",), runs, edges=() if job == PARENT else (receipt,))
    return found._replace(**changes)  # type: ignore[arg-type]


def judge(story: Story, *views: View) -> dict[str, Claim]:
    """The claims by their first words."""
    seen = {job: view(job, story) for job in (PARENT, FIRST, SECOND_SHARD, FLAKY)}
    seen |= {one.job.id: one for one in views}
    policies = {job: Policy(delay=SECOND) for job in seen}
    claims = prove(Ledger(story.entries, tuple(seen.values()), policies), LIMITS)
    names = ("pool", "store", "order", "pauses", "success")
    return dict(zip(names, claims, strict=True))


def failing(claims: dict[str, Claim]) -> set[str]:
    return {name for name, claim in claims.items() if not claim.holds}


def test_a_pipeline_that_went_as_promised_bears_out_every_claim() -> None:
    claims = judge(told_well())
    assert not failing(claims)
    assert claims["pool"].text == "never more than 2 slots of pool analysis in use"
    assert claims["pool"].evidence == "at most 2 at +1.3s: jobs 2, 4"
    assert claims["store"].text == "never more than 4 slots of the whole store in use"
    assert "success at +1s" in claims["order"].evidence
    assert "3 receipts name its revision 5" in claims["order"].evidence
    assert "job 4 got slots again 1.5s after the end of run 1 (1s was asked for)" in claims["pauses"].evidence


# --- limits


def test_a_third_slot_at_the_same_time_is_found() -> None:
    story = told_well()
    # The second shard is admitted before the flaky one has given its slot back.
    repeated = next(entry for entry in story.entries if entry.kind == "repeated")
    admitted = [entry for entry in story.entries if entry.job_id == SECOND_SHARD and entry.kind == "admitted"]
    swapped = {repeated.id: admitted[0].id, admitted[0].id: repeated.id}
    story.entries = sorted(
        (entry._replace(id=swapped.get(entry.id, entry.id)) for entry in story.entries), key=lambda it: it.id
    )
    claims = judge(story)
    assert failing(claims) == {"pool"}
    assert claims["pool"].evidence == "at most 3 at +1.6s: jobs 2, 4, 3"


def test_a_job_of_several_slots_counts_with_all_of_them() -> None:
    story = told_well()
    wide = view(FIRST, story)
    claims = judge(story, wide._replace(job=wide.job._replace(slots=2)))
    assert failing(claims) == {"pool"}
    assert claims["pool"].evidence.startswith("at most 3 ")


def test_the_order_of_the_ledger_counts_and_not_that_of_the_times() -> None:
    story = told_well()
    # Read before its transaction had to wait for the one that gave the slot back.
    place = next(
        index for index, entry in enumerate(story.entries) if entry[1:4:2] == (SECOND_SHARD, "admitted")
    )
    story.entries[place] = story.entries[place]._replace(at=story.entries[place].at - 300 * MILLISECOND)
    assert not failing(judge(story))


@pytest.mark.parametrize("phase", ["stopping", "paused"])
def test_slots_are_held_while_a_run_is_being_stopped_or_paused(phase: str) -> None:
    story = Story()
    story.admit(FIRST)
    story.tell(FIRST, "stop_requested", "running", phase)
    end = story.tell(FIRST, "ended", phase, "completed", "cancelled")
    (hold,) = holds(story.entries)
    assert (hold.begun.id, hold.ended) == (1, end)


def test_a_job_that_is_paused_without_a_target_holds_nothing() -> None:
    story = Story()
    story.submit(FIRST)
    story.tell(FIRST, "paused", "waiting", "paused")
    assert holds(story.entries) == []


def test_a_pool_that_nobody_used_proves_no_limit() -> None:
    story = Story()
    for job in (PARENT, FIRST, SECOND_SHARD, FLAKY):
        story.submit(job)
    assert failing(judge(story)) == {"pool", "store", "order", "pauses", "success"}


# --- order


def test_a_shard_that_started_before_its_prerequisite_had_ended_is_found() -> None:
    story = Story()
    for job in (PARENT, FIRST, SECOND_SHARD, FLAKY):
        story.submit(job)
    story.admit(PARENT)
    story.admit(FIRST)
    story.succeed(PARENT)
    for job in (SECOND_SHARD, FLAKY):
        story.admit(job)
        story.succeed(job)
    story.succeed(FIRST)
    claims = judge(story)
    assert "order" in failing(claims)
    assert (
        claims["order"].evidence
        == "job 2 started at +1s (event 11), before the end of job 1 at +1.2s (event 13)"
    )


def test_a_start_that_is_later_in_the_ledger_but_earlier_in_time_is_found() -> None:
    story = told_well()
    place = next(index for index, entry in enumerate(story.entries) if entry[1:4:2] == (FIRST, "admitted"))
    story.entries[place] = story.entries[place]._replace(at=ORIGIN)
    assert "order" in failing(judge(story))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"observed_revision": 4}, "the receipt of job 2 names revision 4, not 5"),
        ({"observed_outcome": "failure"}, "job 2 has no receipt that satisfies it"),
        ({"observed_outcome": None, "observed_at": None}, "job 2 has no receipt that satisfies it"),
    ],
)
def test_a_receipt_that_does_not_fit_is_found(changes: dict[str, object], said: str) -> None:
    story = told_well()
    shard = view(FIRST, story)
    edge = shard.edges[0]._replace(**changes)  # type: ignore[arg-type]
    claims = judge(story, shard._replace(edges=(edge,)))
    assert failing(claims) == {"order"}
    assert claims["order"].evidence == said


# --- pauses


def test_a_slot_that_was_held_in_a_pause_is_found() -> None:
    story = told_well()
    place = next(index for index, entry in enumerate(story.entries) if entry.kind == "repeated")
    # Whatever it is, it makes the job active between the failed run and the next admission.
    sneaked = story.entries[place + 1]._replace(
        job_id=FLAKY, kind="started", source="queued", target="running"
    )
    story.entries[place + 1 : place + 3] = [sneaked]
    claims = judge(story)
    assert "pauses" in failing(claims)
    assert f"job 4 held slots from event {sneaked.id} on, in its pause" in claims["pauses"].evidence


def test_a_slot_that_was_never_given_back_is_found() -> None:
    story = told_well()
    place = next(index for index, entry in enumerate(story.entries) if entry.kind == "repeated")
    story.entries[place] = story.entries[place]._replace(target="starting")
    assert "pauses" in failing(judge(story))


@pytest.mark.parametrize(
    ("early", "held"), [(-1, True), (CLOCKS_DIFFER, True), (CLOCKS_DIFFER + 1, False), (SECOND, False)]
)
def test_a_pause_counts_from_the_end_of_the_run_and_may_not_be_shorter(early: int, held: bool) -> None:
    story = told_well()
    flaky = view(FLAKY, story)
    again = [entry for entry in story.entries if entry.job_id == FLAKY and entry.kind == "admitted"][-1]
    run = flaky.runs[0]._replace(finished_at=again.at - SECOND + early)
    claims = judge(story, flaky._replace(runs=(run,)))
    assert claims["pauses"].holds == held
    assert failing(claims) == (set() if held else {"pauses"})


def test_a_job_that_was_to_be_repeated_and_was_not_is_found() -> None:
    story = told_well()
    story.entries = story.entries[:-3]
    claims = judge(story, view(FLAKY, told_well()))
    assert "was not admitted again" in claims["pauses"].evidence
    assert failing(claims) == {"pauses", "success"}


def test_without_any_repetition_nothing_is_proven_of_pauses() -> None:
    story = told_well()
    story.entries = [entry for entry in story.entries if entry.job_id != FLAKY]
    claims = judge(story)
    assert claims["pauses"] == Claim(
        "no slot was held between a failed run and the next one", False, "no run was repeated"
    )


# --- success


def test_a_job_that_failed_is_named() -> None:
    story = told_well()
    shard = view(SECOND_SHARD, story)
    claims = judge(story, shard._replace(job=shard.job._replace(outcome="failure")))
    assert failing(claims) == {"success"}
    assert claims["success"].evidence == "job 3: failure"


# --- bars


def test_a_bar_shows_waiting_running_and_pausing_on_one_scale() -> None:
    drawn = bars(told_well().entries, 24)
    assert set(drawn) == {PARENT, FIRST, SECOND_SHARD, FLAKY}
    assert re.fullmatch(r"\.+#+", drawn[PARENT])
    assert re.fullmatch(r" *\.+#+", drawn[FIRST])
    assert re.fullmatch(r" *\.+#+~{8,}#+", drawn[FLAKY])


def test_a_hold_shows_however_short_it_was() -> None:
    story = Story()
    story.submit(FIRST)
    story.at = 1000
    story.admit(FIRST)
    story.succeed(FIRST)
    story.at = 2000
    story.submit(FLAKY)
    assert bars(story.entries, 10)[FIRST].count("#") == 1


def test_a_bar_reaches_to_the_present_while_a_job_goes_on() -> None:
    story = Story()
    story.submit(FIRST)
    story.admit(FIRST)
    assert bars(story.entries, 10, ORIGIN + 10 * SECOND)[FIRST] == "##########"


@given(
    st.lists(
        st.tuples(
            st.sampled_from([FIRST, FLAKY]),
            st.sampled_from(["waiting", "queued", "starting", "running", "paused", "completed"]),
            st.sampled_from(["repeated", "ended"]),
            st.floats(0, 100),
        )
    ),
    st.integers(1, 200),
)
def test_a_bar_is_never_longer_than_asked_whatever_the_ledger_says(
    told: list[tuple[int, str, str, float]], width: int
) -> None:
    story = Story()
    for job, target, kind, pause in told:
        story.at += pause
        story.tell(job, kind, "", target)
    drawn = bars(story.entries, width)
    assert set(drawn) == {entry.job_id for entry in story.entries}
    assert all(len(bar) <= width for bar in drawn.values())

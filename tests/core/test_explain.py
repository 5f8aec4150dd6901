from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.admission import STORE, Capacity, Request, array_scope, decide
from inturn.core.explain import DEEPEST, NAMED, Facts, explain, follow
from inturn.core.explain_line import Place
from inturn.core.job import OUTCOMES, PHASES, SILENT, Job
from inturn.core.moment import HOUR, MINUTE, SECOND, Deadline
from inturn.core.reasons import Agent, Reason
from inturn.core.retry import Policy
from inturn.core.roster import Member
from inturn.core.text import printable
from inturn.core.views import Holder, Keeper, Scope
from tests.builders import (
    START,
    at,
    ended,
    judged_edge,
    later,
    make_condition,
    make_edge,
    make_job,
    make_run,
    make_spec,
    running,
)


def _facts(job: Job, **fields: Any) -> Facts:
    return Facts(**{"job": job, "spec": make_spec(), **fields})


def _why(*known: Facts, elapsed: int = 0) -> tuple[Reason, ...]:
    """Explain the first of these jobs."""
    return explain(known[0].job.id, {facts.job.id: facts for facts in known}, later(elapsed))


def _all(reasons: Iterable[Reason]) -> Iterator[Reason]:
    for reason in reasons:
        yield reason
        yield from _all(reason.because)


def _codes(reasons: Iterable[Reason]) -> list[str]:
    return [reason.code for reason in reasons]


def _text(reasons: Iterable[Reason]) -> str:
    return "\n".join(f"{reason.message} -> {reason.fix}" for reason in _all(reasons))


def _place(job: Job, line: Iterable[Request] = (), holders: tuple[Holder, ...] = (), **fields: Any) -> Place:
    """Where a job stands with one slot in the store, or as `limits` say, held by `holders`."""
    limits: dict[str, int] = fields.pop("limits", {STORE: 1})
    mine = Request(job.id, job.priority, job.due.wall, job.slots, job.pool, job.bypass_count, job.throttle)
    used: dict[str, int] = fields.pop("used", {STORE: sum(holder.slots for holder in holders)})
    room = Capacity(limits, used)
    scopes = tuple(
        Scope(name, limit, fields.get("declared", False), used.get(name, 0), 0, holders)
        for name, limit in limits.items()
        if not name.startswith("array")
    )
    fields.pop("declared", None)
    decision = decide(mine, line, room)
    standing: dict[str, Any] = {
        "other_name": None,
        "before": 0,
        "first": (),
        "config_path": "/etc/inturn.yml",
    }
    return Place(mine, decision, room, scopes=scopes, **(standing | fields))


HOLDER = Holder(3, "train", 1, "", "", 1, "", START.wall - 5 * MINUTE)


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_has_a_reason(phase: str) -> None:
    job = make_job(phase)
    place = _place(job) if phase == "queued" else None
    assert _why(_facts(job, last_run=running(make_run()), place=place))


def test_a_dependency_is_named_with_the_outcome_that_it_must_have() -> None:
    child = _facts(make_job("waiting"), edges=(make_edge(parent_name="prepare"),))
    parent = _facts(make_job("running", id=3, name="prepare"), last_run=running(make_run(job_id=3)))
    (reason,) = _why(child, parent, elapsed=MINUTE)
    assert reason.code == "dependency"
    assert reason.job_id == 3
    assert reason.message == 'job 3 ("prepare") has to end with success; it is running'
    assert _codes(reason.because) == ["running"]
    assert reason.because[0].fix == "inturn logs 3"
    assert "(1m)" in reason.because[0].message


def test_any_outcome_is_called_so() -> None:
    (reason,) = _why(_facts(make_job("waiting"), edges=(make_edge(OUTCOMES),)))
    assert reason.message == "job 3 has to end with any outcome; it is running"
    assert reason.fix == "inturn why 3"


def test_the_chain_of_dependencies_is_followed_to_its_root() -> None:
    jobs = [
        _facts(make_job("waiting", id=number), edges=(make_edge(job_id=number, parent_id=number - 1),))
        for number in range(9, 1, -1)
    ]
    root = _facts(make_job("waiting", id=1), conditions=(make_condition(job_id=1),))
    assert _codes(_all(_why(*jobs, root))) == ["dependency"] * 8 + ["condition"]


def test_a_very_long_chain_ends_with_where_to_go_on() -> None:
    length = DEEPEST + 10
    jobs = [
        _facts(make_job("waiting", id=number), edges=(make_edge(job_id=number, parent_id=number - 1),))
        for number in range(length, 1, -1)
    ]
    last = list(_all(_why(*jobs)))[-1]
    assert last.code == "dependency"
    assert last.fix == f"inturn why {length - DEEPEST - 1}"


def test_a_job_that_several_wait_for_is_explained_once() -> None:
    """A diamond of many layers would otherwise be told exponentially often."""
    layers: list[Facts] = []
    for layer in range(12, 0, -1):
        below = tuple(make_edge(parent_id=2 * (layer - 1) + side) for side in (1, 2)) if layer > 1 else ()
        layers += [_facts(make_job("waiting", id=2 * layer + side), edges=below) for side in (1, 2)]
    assert len(list(_all(_why(*layers)))) <= 2 * len(layers)


def test_an_outcome_that_does_not_satisfy_is_told_before_it_is_noted() -> None:
    edge = make_edge(parent_phase="completed", parent_outcome="failure")
    (reason,) = _why(_facts(make_job("waiting"), edges=(edge,)))
    assert reason.code == "dependency_ended"
    assert "will be aborted" in reason.message
    edge = make_edge(("failure",), parent_phase="completed", parent_outcome="failure")
    (reason,) = _why(_facts(make_job("waiting"), edges=(edge,)))
    assert "aborted" not in reason.message


def test_a_condition_tells_what_was_last_seen_and_when() -> None:
    seen = make_condition(observed_at=START.wall, diagnostic="No such file or directory")
    probe = make_condition("probe", argument=b"curl\0-sf\0host", observed_at=START.wall, diagnostic="exit 7")
    file, of_probe = _why(_facts(make_job("waiting"), conditions=(seen, probe)), elapsed=2 * SECOND)
    assert file.message == ('it waits for "/there" to exist; last looked 2s ago: No such file or directory')
    assert of_probe.message == 'it waits for "curl -sf host" to exit with 0; last looked 2s ago: exit 7'


def test_a_condition_that_nobody_has_looked_at_says_so() -> None:
    (reason,) = _why(_facts(make_job("waiting"), conditions=(make_condition(),)))
    assert reason.message.endswith("nobody has looked yet")


def test_satisfied_conditions_are_not_in_the_way() -> None:
    met = make_condition(satisfied_at=START.wall)
    open_one = make_condition("probe", position=1, argument=b"false")
    facts = _facts(make_job("waiting"), conditions=(met, open_one))
    assert _codes(_why(facts)) == ["condition"]
    any_mode = facts._replace(spec=make_spec(wait_mode="any"))
    assert _codes(_why(any_mode)) == ["gates_open"]
    none_met = any_mode._replace(conditions=(make_condition(), open_one))
    assert "any one" in _text(_why(none_met))


def test_a_delay_tells_until_when() -> None:
    due = at(later(HOUR))
    job = make_job(in_line=0, due=due)
    (reason,) = _why(_facts(job), elapsed=MINUTE)
    assert reason.code == "delay"
    assert reason.message.endswith("(in 59m)")
    assert _codes(_why(_facts(make_job("waiting", due=due), conditions=(make_condition(),)))) == [
        "condition",
        "delay",
    ]


def test_a_delay_is_told_by_the_clock_that_decides() -> None:
    job = make_job(in_line=0, due=Deadline(START.wall + HOUR, START.boot, START.mono + MINUTE))
    assert "(in 1m)" in _text(_why(_facts(job)))


def test_a_job_in_backoff_tells_how_its_run_ended() -> None:
    job = make_job(in_line=0, attempts=1, runs=1, due=at(later(SECOND)))
    run = ended(make_run(), "failure", exit_code=1)
    (reason,) = _why(_facts(job, last_run=run))
    assert reason.code == "backoff"
    assert reason.because[0].message == "run 1 exited with 1"
    assert reason.because[0].fix == "inturn logs 7 --run 1"


@pytest.mark.parametrize("attempts", [0, 1])
@pytest.mark.parametrize("in_line", [0, 1])
def test_a_job_that_could_not_be_started_through_no_fault_of_its_own_says_what_was_lacking(
    attempts: int, in_line: int
) -> None:
    job = make_job(in_line=in_line, attempts=attempts, runs=attempts + 1, due=at(later(SECOND)))
    run = ended(make_run(), "cancelled")._replace(
        number=attempts + 1, failure="out_of_resources", diagnostic="there were no processes"
    )
    place = _place(job, holders=(HOLDER,)) if in_line else None
    told = _text(_why(_facts(job, last_run=run, place=place)))
    assert f"run {attempts + 1} was not started, through no fault of the job: there were no processes" in told
    assert "it is not to start before" not in told


def test_a_full_store_names_who_holds_it_and_how_it_would_be_raised() -> None:
    job = make_job()
    (reason,) = _why(_facts(job, place=_place(job, holders=(HOLDER,))))
    assert reason.code == "full"
    assert reason.message == "the store is full: 1 of 1 slots in use, 1 more wanted"
    assert reason.fix == "inturn limit 2"
    assert reason.because[0].message.startswith('job 3 ("train") holds 1 slot since ')
    assert reason.because[0].fix == "inturn logs 3"


def test_a_full_pool_is_named() -> None:
    job = make_job(pool="analysis", slots=2)
    place = _place(job, limits={"analysis": 2}, used={"analysis": 1}, holders=(HOLDER,))
    (reason,) = _why(_facts(job, place=place))
    assert reason.message.startswith('pool "analysis" is full: 1 of 2 slots')
    assert reason.fix == "inturn pools set analysis 3"


def test_a_declared_capacity_is_changed_in_its_file() -> None:
    job = make_job()
    place = _place(job, holders=(HOLDER,), declared=True)
    (reason,) = _why(_facts(job, place=place))
    assert reason.fix == "inturn config apply"
    assert reason.message.endswith("; /etc/inturn.yml declares that: raise it there, then apply it")


def test_of_many_holders_a_few_are_named_and_the_rest_counted() -> None:
    job = make_job()
    holders = tuple(HOLDER._replace(job_id=number) for number in range(10, 18))
    place = _place(job, limits={STORE: 8}, holders=holders)
    (reason,) = _why(_facts(job, place=place))
    assert reason.because[-1].message == "3 more jobs hold slots"
    assert reason.because[-1].fix == "inturn pools"


def test_a_capacity_that_was_lowered_below_the_request_is_told() -> None:
    job = make_job(slots=3)
    (reason,) = _why(_facts(job, place=_place(job, limits={STORE: 2})))
    assert reason.code == "too_large"
    assert "has only 2 slots by now" in reason.message
    assert reason.fix == "inturn limit 3"


def test_an_array_that_lets_only_some_run_is_told() -> None:
    job = make_job(throttle=5)
    scope = array_scope(5)
    (reason,) = _why(_facts(job, place=_place(job, limits={scope: 2}, used={scope: 2})))
    assert reason.code == "full"
    assert reason.message == "its array lets 2 of its jobs run at once, and so many do"


def test_a_job_before_it_in_line_is_named() -> None:
    job = make_job()
    older = Request(4, 0, START.wall - 1, 1, "")
    place = _place(job, [older], other_name="older", before=1, first=((older, "older"),))
    yields, standing = _why(_facts(job, place=place))
    assert yields.code == "yields"
    assert yields.message == 'job 4 ("older") stands before it in line and may take the slots now'
    assert yields.fix == "inturn why 4"
    assert standing.message == 'it is number 2 in line, after job 4 ("older")'


def test_a_wide_job_that_has_been_passed_often_enough_is_waited_for() -> None:
    job = make_job()
    wide = Request(4, 0, START.wall - 1, 2, "", 3)
    place = _place(job, [wide], limits={STORE: 2}, holders=(HOLDER,), before=1, first=((wide, None),))
    held, _ = _why(_facts(job, place=place))
    assert held.code == "held"
    assert (
        held.message
        == "job 4 asks for 2 slots and has been passed 3 times, so that nobody passes it any more"
    )
    assert _codes(held.because) == ["full"]


def test_the_place_in_line_and_the_bypasses_are_told() -> None:
    job = make_job(slots=2, bypass_count=2)
    first = tuple((Request(number, 0, 0, 1, ""), None) for number in range(1, 4))
    place = _place(job, limits={STORE: 2}, holders=(HOLDER,), before=9, first=first)
    reasons = _why(_facts(job, place=place))
    assert _codes(reasons) == ["full", "place", "passed"]
    assert reasons[1].message == "it is number 10 in line, after job 1, job 2, job 3, …"
    assert "passed it 2 of 3 times" in reasons[2].message


def test_a_job_with_nothing_in_its_way_is_about_to_start() -> None:
    job = make_job()
    assert _codes(_why(_facts(job, place=_place(job)))) == ["about_to_start"]


@pytest.mark.parametrize(
    ("workers", "code", "fix"),
    [("none", "no_worker", "inturn work --queue gpu"), ("busy", "workers_busy", "inturn work --queue gpu")],
)
def test_a_queue_that_nobody_serves_is_told(workers: str, code: str, fix: str) -> None:
    job = make_job(queue="gpu")
    (reason,) = _why(_facts(job, place=_place(job, workers=workers)))
    assert (reason.code, reason.fix) == (code, fix)
    assert '"gpu"' in reason.message


@pytest.mark.parametrize(
    "fields",
    [
        {"phase": "waiting"},
        {"phase": "queued", "in_line": 0, "due": at(later(HOUR))},
        {"phase": "queued", "in_line": 0, "due": at(later(HOUR)), "attempts": 1},
    ],
    ids=["waiting", "delayed", "to be repeated"],
)
def test_that_nobody_serves_its_queue_is_told_of_a_job_whose_time_has_not_come(
    fields: dict[str, Any],
) -> None:
    reasons = _why(_facts(make_job(queue="gpu", **fields), workers="none"))
    assert reasons[-1].code == "no_worker"
    assert reasons[-1].fix == "inturn work --queue gpu"
    assert "no_worker" not in _codes(_why(_facts(make_job(queue="gpu", **fields), workers="busy")))


def test_a_dead_owner_comes_first_and_nothing_is_promised_in_its_name() -> None:
    job = make_job()
    agent = Agent("supervisor", 123, "dead")
    reasons = _why(_facts(job, place=_place(job), agent=agent))
    assert _codes(reasons) == ["owner_dead"]
    assert "(process 123)" in reasons[0].message
    assert reasons[0].fix == "inturn recover"


def test_an_owner_that_cannot_be_verified_is_told_and_a_live_one_is_not() -> None:
    job = make_job("running")
    assert "owner_unknown" in _codes(_why(_facts(job, agent=Agent("worker", 1, "unknown"))))
    assert _codes(_why(_facts(job, agent=Agent("worker", 1, "alive")))) == ["running"]


@pytest.mark.parametrize("phase", ["starting", "running", "stopping"])
def test_an_owner_that_is_stopped_comes_first_with_what_lets_it_go_on(phase: str) -> None:
    stopped = Agent("supervisor", 123, "alive", stopped=True)
    reason, *others = _why(_facts(make_job(phase), agent=stopped))
    assert (reason.code, reason.fix) == ("owner_stopped", "kill -CONT 123")
    assert "its owner, process 123, is stopped" in reason.message
    assert others


def test_a_request_that_nobody_answers_for_is_told() -> None:
    job = make_job(in_line=SILENT)
    assert _codes(_why(_facts(job, place=_place(job)))) == ["silent"]


def test_a_job_that_is_being_stopped_tells_why() -> None:
    job = make_job("stopping")
    assert "cancelled" in _text(_why(_facts(job, last_run=running(make_run()))))
    job = make_job("stopping", stop_reason=None)
    run = ended(make_run(), "success", exit_code=0)
    assert "processes that it left are being ended" in _text(_why(_facts(job, last_run=run)))


def test_what_will_end_the_job_is_told_beforehand() -> None:
    spec = make_spec(wait_abort_at=START.wall + HOUR, job_timeout=2 * HOUR)
    reasons = _why(_facts(make_job("waiting"), spec=spec, conditions=(make_condition(),)))
    assert _codes(reasons) == ["condition", "deadline", "deadline"]
    assert "(in 1h)" in reasons[1].message
    assert "2h more" in reasons[2].message
    again = make_job(in_line=0, attempts=1, runs=1, due=at(later(SECOND)))
    policy = Policy(abort_at=START.wall + MINUTE)
    assert "no further run starts after" in _text(_why(_facts(again, spec=make_spec(policy))))
    busy = _facts(make_job("running"), spec=make_spec(run_timeout=MINUTE), last_run=running(make_run()))
    assert "20s more (--run-timeout)" in _text(_why(busy, elapsed=40 * SECOND))


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (ended(make_run(), "failure", exit_code=3), "exited with 3"),
        (ended(make_run(), "failure", signal=9), "was ended by SIGKILL"),
        (ended(make_run(), "start_failed", diagnostic="no such file: x"), "not be started: no such file: x"),
        (ended(make_run(), "timed_out", signal=15), "because its time was over"),
        (ended(make_run(), "lost"), "nobody saw how it ended"),
    ],
)
def test_a_completed_job_tells_how_its_last_run_ended(run: Any, told: str) -> None:
    job = make_job("completed", outcome="failure", reason="not_retryable", attempts=1, runs=1)
    (reason,) = _why(_facts(job, last_run=run), elapsed=3 * MINUTE)
    assert reason.message == "it ended as failure 3m ago: its last run failed in a way that is not retried"
    assert told in reason.because[0].message


def test_an_aborted_job_tells_which_dependency_failed_and_why() -> None:
    job = make_job("completed", outcome="aborted", reason="dependency_unsatisfied")
    parent = make_job("completed", id=3, outcome="failure", reason="run_limit", attempts=1, runs=1)
    run = ended(make_run(job_id=3), "failure", exit_code=4)
    facts = _facts(job, edges=(judged_edge("failure"), judged_edge("success", parent_id=2)))
    (reason,) = _why(facts, _facts(parent, last_run=run))
    assert _codes(_all([reason])) == ["ended", "dependency_unsatisfied", "ended", "run"]
    assert "job 3 ended as failure, and had to end with success" in _text([reason])
    assert "run 1 exited with 4" in _text([reason])


def test_a_job_that_waited_too_long_tells_for_what() -> None:
    job = make_job("completed", outcome="aborted", reason="wait_deadline")
    seen = make_condition(observed_at=START.wall, diagnostic="No such file or directory")
    (reason,) = _why(_facts(job, conditions=(seen,)))
    assert "--wait-abort-at" in reason.message
    assert _codes(reason.because) == ["condition"]


def test_the_facts_of_those_who_are_waited_for_are_asked_for_and_of_no_others() -> None:
    edges = (make_edge(parent_id=1), judged_edge("success", parent_id=2))
    assert list(follow(_facts(make_job("waiting"), edges=edges))) == [1]
    assert list(follow(_facts(make_job("queued"), edges=edges))) == []
    aborted = make_job("completed", outcome="aborted", reason="dependency_unsatisfied")
    failed = (judged_edge("failure", parent_id=3), judged_edge("success", parent_id=2))
    assert list(follow(_facts(aborted, edges=failed))) == [3]


@given(st.text(min_size=1), st.text(), st.binary())
def test_nothing_that_a_user_chose_steers_a_terminal(name: str, diagnostic: str, argument: bytes) -> None:
    child = _facts(
        make_job("waiting", name=name),
        edges=(make_edge(parent_name=name),),
        conditions=(make_condition(argument=argument, observed_at=START.wall, diagnostic=diagnostic),),
    )
    run = ended(make_run(job_id=3), "start_failed", diagnostic=diagnostic)
    parent = _facts(make_job(in_line=0, id=3, attempts=1, runs=1, due=at(later(SECOND))), last_run=run)
    messages = [reason.message for reason in _all(_why(child, parent))]
    assert [printable(message) for message in messages] == messages


def test_of_very_many_dependencies_those_that_failed_are_told_first_and_the_rest_counted() -> None:
    edges = [make_edge(parent_id=number) for number in range(100, 109)]
    edges.append(make_edge(parent_id=110, parent_phase="completed", parent_outcome="failure"))
    facts = _facts(make_job("waiting"), edges=tuple(edges))
    reasons = _why(facts)
    assert _codes(reasons) == ["dependency_ended", *["dependency"] * (NAMED - 1), "dependencies"]
    assert reasons[0].job_id == 110
    assert reasons[-1].message == "5 more jobs have to end as well"
    assert [*follow(facts)] == [110, 100, 101, 102, 103]


def test_each_worker_of_a_busy_queue_tells_what_keeps_it_from_claiming() -> None:
    job = make_job(queue="gpu")
    keeper = Keeper(3, "worker", "token", "4711:1:boot:1", 1, 1, START.wall, None, 0)
    full = Member(keeper, "0", True, 2, 2, {"gpu": None}, (3, 4))
    limited = Member(keeper._replace(id=5), "0", True, 2, 0, {"gpu": 1}, ())
    place = _place(job, workers="busy", servers=(full, limited), occupied=(HOLDER,))
    (busy,) = _why(_facts(job, place=place))
    assert (busy.code, busy.fix) == ("workers_busy", "inturn work --queue gpu")
    assert _codes(busy.because) == ["places", "ceiling", "holder"]
    assert "worker 3 (process 4711) has 2 of 2 places taken" in _text([busy])
    assert "fewer than 1 jobs of the queue hold slots, and 1 do" in _text([busy])


def test_the_jobs_of_an_array_that_run_instead_are_named() -> None:
    job = make_job(throttle=5)
    scope = array_scope(5)
    place = _place(job, limits={scope: 1}, used={scope: 1}, siblings=(HOLDER,))
    (reason,) = _why(_facts(job, place=place))
    assert reason.fix == "inturn list --array 5 --status active"
    assert [below.job_id for below in reason.because] == [3]


def test_a_holder_tells_for_how_long_and_which_devices_it_has() -> None:
    job = make_job()
    holder = HOLDER._replace(pool="gpu", devices="0,2")
    (reason,) = _why(_facts(job, place=_place(job, holders=(holder,))))
    assert "holds 1 slot (gpu: 0, 2) since " in reason.because[0].message
    assert reason.because[0].message.endswith(" (5m)")


def test_nothing_can_stand_before_the_highest_priority() -> None:
    job = make_job()
    older = Request(4, 2**31 - 1, START.wall - 1, 1, "")
    standing = _why(_facts(job, place=_place(job, [older], before=1, first=((older, None),))))[-1]
    assert standing.fix == "inturn list --status queued"


@pytest.mark.parametrize(
    ("kind", "argument", "fix"),
    [
        ("file", b"a file", "ls -ld '/home/u/a file'"),
        ("file", b"/there", "ls -ld /there"),
        ("probe", b"sh\0-c\0exit 3", "cd /home/u && sh -c 'exit 3'"),
        ("until", b"", ""),
    ],
)
def test_a_condition_names_the_command_that_sees_what_it_sees(kind: str, argument: bytes, fix: str) -> None:
    condition = make_condition(kind, argument=argument, due=at(later(HOUR)))
    (reason,) = _why(_facts(make_job("waiting"), spec=make_spec(cwd=b"/home/u"), conditions=(condition,)))
    assert reason.fix == fix


@pytest.mark.parametrize(
    ("outcome", "reason", "told", "fix"),
    [
        ("timed_out", "run_timeout", "(--run-timeout 1m)", "inturn retry 7"),
        ("timed_out", "job_timeout", "(--job-timeout 1h)", "inturn retry 7"),
        ("failure", "run_limit", "as it may have (4)", "inturn retry 7"),
        ("submission_failed", "no_supervisor", "no supervisor took it over", "inturn retry 7"),
        ("lost", "owner_died", "cannot be proven", "inturn retry 7"),
        ("aborted", "wait_deadline", "(--wait-abort-at)", "inturn rerun 7"),
        ("success", None, "it ended as success", ""),
    ],
)
def test_a_job_that_has_ended_tells_which_limit_it_reached_and_how_to_have_it_again(
    outcome: str, reason: str | None, told: str, fix: str
) -> None:
    spec = make_spec(Policy(run_limit=4), run_timeout=MINUTE, job_timeout=HOUR)
    job = make_job("completed", outcome=outcome, reason=reason)
    (found,) = _why(_facts(job, spec=spec))
    assert told in found.message
    assert found.fix == fix


def test_whoever_made_others_abort_is_retried_with_them() -> None:
    job = make_job("completed", outcome="aborted", reason="dependency_unsatisfied")
    parent = make_job("completed", id=3, outcome="failure", reason="run_limit", attempts=1, runs=1)
    (reason,) = _why(_facts(job, edges=(judged_edge("failure"),)), _facts(parent))
    assert [found.fix for found in _all([reason]) if found.fix] == ["inturn retry 3 --with-dependents"]

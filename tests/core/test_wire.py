from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core import wire, wire_spec
from inturn.core.job import OUTCOMES, STATUSES, Job
from inturn.core.moment import SECOND, Deadline
from inturn.core.reasons import Agent, Reason
from inturn.core.retry import Policy
from inturn.core.views import Dossier, Holder, Keeper, LedgerEntry, Scope, Totals, View
from tests.builders import START, ended, judged_edge, make_condition, make_edge, make_job, make_run, make_spec

KEEPER = Keeper(
    3, "supervisor", "token", "123:456:boot:789", 5, 6, START.wall, None, START.wall + 10 * SECOND
)
AT = "2027-01-15T08:00:00Z"  # START


def _view(job: Job, **fields: Any) -> View:
    return View(job, (b"true",), **fields)


def test_a_job_has_the_keys_that_are_promised() -> None:
    promised = """id name phase status outcome reason attempts next_run_at priority queue pool slots
        bypass_count lease_expires_at owner dependencies conditions runs""".split()
    assert set(promised) <= set(wire.job(_view(make_job())))


def test_a_supervised_job_without_a_pool_has_neither_queue_nor_pool() -> None:
    document = wire.job(_view(make_job()))
    assert (document["queue"], document["pool"], document["owner"]) == (None, None, None)
    document = wire.job(_view(make_job(queue="q", pool="p")))
    assert (document["queue"], document["pool"]) == ("q", "p")


def test_times_are_rfc_3339_in_utc() -> None:
    document = wire.job(_view(make_job("completed", due=Deadline(START.wall + 1))))
    assert document["completed_at"] == AT
    assert document["next_run_at"] == "2027-01-15T08:00:00.000001Z"
    assert document["started_at"] is None


@pytest.mark.parametrize("phase", ["starting", "running", "stopping"])
def test_who_holds_slots_has_a_lease(phase: str) -> None:
    document = wire.job(_view(make_job(phase), keeper=KEEPER))
    assert document["lease_expires_at"] == "2027-01-15T08:00:10Z"
    assert document["owner"]["kind"] == "supervisor"
    assert document["owner"]["pid"] == 123


@pytest.mark.parametrize("phase", ["submitting", "waiting", "queued", "paused"])
def test_who_holds_no_slots_has_no_lease(phase: str) -> None:
    assert wire.job(_view(make_job(phase), keeper=KEEPER))["lease_expires_at"] is None


def test_a_dependency_shows_its_receipt() -> None:
    open_one, judged = make_edge(("success", "failure")), judged_edge("failure")
    documents = wire.job(_view(make_job(), edges=(open_one, judged)))["dependencies"]
    assert documents[0]["job_id"] == 3
    assert documents[0]["outcomes"] == ["success", "failure"]
    assert (documents[0]["observed_outcome"], documents[0]["satisfied"]) == (None, None)
    assert documents[1]["observed_outcome"] == "failure"
    assert (documents[1]["observed_revision"], documents[1]["observed_at"]) == (4, AT)
    assert documents[1]["satisfied"] is False


def test_a_condition_shows_what_was_last_seen_and_what_is_waited_for() -> None:
    seen = make_condition(observed_at=START.wall, diagnostic="No such file or directory")
    probe = make_condition("probe", argument=b"test\0-e\0/x", satisfied_at=START.wall)
    until = make_condition("until", due=Deadline(START.wall))
    document, of_probe, of_time = wire.job(_view(make_job(), conditions=(seen, probe, until)))["conditions"]
    assert (document["kind"], document["satisfied"], document["path"]) == ("file", False, "/there")
    assert (document["observed_at"], document["diagnostic"]) == (AT, "No such file or directory")
    assert (of_probe["argv"], of_probe["satisfied"]) == (["test", "-e", "/x"], True)
    assert of_time["due_at"] == AT


def test_a_run_shows_how_it_ended() -> None:
    run = ended(make_run(), "failure", START, exit_code=3, user_us=1_500_000, system_us=2 * SECOND)
    (document,) = wire.job(_view(make_job(), runs=(run,)))["runs"]
    assert (document["number"], document["outcome"], document["exit_code"]) == (1, "failure", 3)
    assert (document["signal"], document["finished_at"]) == (None, AT)
    assert (document["user_time"], document["system_time"]) == (1.5, 2)
    assert document["log_incomplete"] is False


def test_arguments_that_are_not_utf8_are_readable_and_exact() -> None:
    document = wire.job(View(make_job(), (b"printf", b"a\xffb")))
    assert document["argv"] == ["printf", "a\N{REPLACEMENT CHARACTER}b"]
    assert [base64.b64decode(each) for each in document["argv_base64"]] == [b"printf", b"a\xffb"]
    assert "argv_base64" not in wire.job(View(make_job(), ("né".encode(),)))


@given(st.lists(st.binary(), min_size=1), st.binary(), st.binary())
def test_any_bytes_make_valid_json_and_nothing_is_lost(argv: list[bytes], cwd: bytes, value: bytes) -> None:
    spec = make_spec(argv=tuple(argv), cwd=cwd, environment=(b"X=" + value,))
    document = json.loads(json.dumps(wire_spec.spec(spec, True)))
    words = document.get("argv_base64") or [base64.b64encode(word.encode()) for word in document["argv"]]
    assert [base64.b64decode(word) for word in words] == argv
    directory = document.get("cwd_base64") or base64.b64encode(document["cwd"].encode())
    assert base64.b64decode(directory) == cwd
    entries = [base64.b64decode(entry) for entry in document.get("environment_base64", [])]
    assert entries == [b"X=" + value] or document["environment_values"]["X"].encode() == value


def test_the_environment_is_shown_by_its_names_unless_values_are_asked_for() -> None:
    spec = make_spec(environment=(b"B=1", b"A=secret"), env_changes=(b"C=3", b"B"))
    document = wire_spec.spec(spec, False)
    assert document["environment"] == ["A", "C"]
    assert (document["env_set"], document["env_unset"]) == (["C"], ["B"])
    assert "secret" not in json.dumps(document)
    assert wire_spec.spec(spec, True)["environment_values"] == {"A": "secret", "C": "3"}


def test_the_policy_is_written_as_its_options_are() -> None:
    policy = Policy(success_codes=((0, 0), (3, 5)), run_limit=None, delay=1_500_000, abort_at=START.wall)
    document = wire_spec.spec(make_spec(policy, umask=0o27), False)
    assert document["policy"]["success_exit_codes"] == ["0", "3-5"]
    assert document["policy"]["max_runs"] is None
    assert document["policy"]["retry_delay"] == 1.5
    assert document["policy"]["retry_abort_at"] == AT
    assert (document["umask"], document["stop_grace"], document["run_timeout"]) == ("0027", 10, None)


def test_an_event_has_the_keys_that_are_promised() -> None:
    entry = LedgerEntry(9, 7, START.wall, "admitted", "queued", "starting", None, 1)
    assert wire.event(entry) == {
        "id": 9,
        "job": 7,
        "at": AT,
        "from": "queued",
        "to": "starting",
        "kind": "admitted",
        "reason": None,
        "run": 1,
    }


def test_a_dossier_is_the_job_and_more() -> None:
    holder = Holder(7, None, 2, "p", "", 1, "0,1", START.wall)
    view = _view(make_job("running"), keeper=KEEPER)
    reason = Reason("running", "run 1 is running", "inturn logs 7", 7, (Reason("run", "x"),))
    agent = Agent("supervisor", 123, "alive")
    found = Dossier(view, make_spec(), "key", holder, (make_edge(job_id=9),), (), agent, (reason,))
    document = wire.dossier(found, False)
    assert set(wire.job(view)) < set(document)
    assert document["owner"]["life"] == "alive"
    assert document["admission"]["devices"] == ["0", "1"]
    assert document["admission"]["lease_expires_at"] == document["lease_expires_at"]
    assert document["dependents"][0]["job_id"] == 9
    assert document["reasons"][0]["fix"] == "inturn logs 7"
    assert document["reasons"][0]["because"] == [
        {"code": "run", "message": "x", "fix": None, "job_id": None, "because": []}
    ]


def test_scheduled_jobs_count_as_queued_and_each_outcome_on_its_own() -> None:
    counts = wire.counts(dict.fromkeys(STATUSES, 1))
    assert (counts["queued"], counts["scheduled"], counts["backoff"]) == (3, 2, 1)
    assert (counts["running"], counts["starting"], counts["stopping"], counts["paused"]) == (3, 1, 1, 1)
    assert [counts[outcome] for outcome in OUTCOMES] == [1] * len(OUTCOMES)


def test_totals_are_broken_down_by_queue_and_pool() -> None:
    counted = {("q", "p", "queued"): 2, ("", "p", "running"): 1, ("", "", "success"): 5}
    scopes = (Scope("", 4, True, 1, 2, ()), Scope("p", 1, False, 1, 2, ()))
    document = wire.totals(Totals(counted, scopes))
    assert (document["queued"], document["running"], document["success"], document["lost"]) == (2, 1, 5, 0)
    assert (document["slots"], document["used"]) == (4, 1)
    assert [(queue["name"], queue["queued"]) for queue in document["queues"]] == [("q", 2)]
    (pool,) = document["pools"]
    assert (pool["name"], pool["queued"], pool["running"], pool["free"]) == ("p", 2, 1, 0)


def test_the_store_wide_limit_stands_apart_from_the_pools() -> None:
    holder = Holder(7, "x", 1, "p", "", 1, "", START.wall)
    document = wire.scopes((Scope("", None, False, 1, 0, (holder,)), Scope("p", 2, True, 1, 3, (holder,))))
    assert (document["store"]["slots"], document["store"]["free"]) == (None, None)
    (pool,) = document["pools"]
    assert (pool["name"], pool["slots"], pool["used"], pool["free"], pool["in_line"]) == ("p", 2, 1, 1, 3)
    assert pool["holders"] == [{"job_id": 7, "name": "x", "slots": 1, "devices": [], "since": AT}]

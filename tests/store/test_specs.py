from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inturn.core.retry import BACKOFFS, Policy
from inturn.core.spec import Spec
from inturn.store import specs
from inturn.store.db import Store
from tests.builders import add_job, make_submission
from tests.store.strategies import INTEGERS, WORDS, one_store

BYTES = st.binary(max_size=8).map(lambda body: body.replace(b"\0", b"\xff"))
RANGES = st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)).map(sorted).map(tuple), max_size=3).map(
    tuple
)
LIMITS = st.none() | st.integers(1, 2**40)
POLICY_FIELDS = {
    "success_codes": RANGES,
    "retry_codes": RANGES,
    "retry_signals": RANGES,
    "retry_timeouts": st.booleans(),
    "retry_start_failures": st.booleans(),
    "success_target": LIMITS,
    "run_limit": LIMITS,
    "failure_limit": LIMITS,
    "delay": INTEGERS,
    "backoff": st.sampled_from(BACKOFFS),
    "max_delay": st.none() | INTEGERS,
    "jitter": INTEGERS,
    "abort_at": st.none() | INTEGERS,
}
ENTRIES = st.lists(BYTES.filter(bool), max_size=4).map(tuple)
SPEC_FIELDS = {
    "argv": st.lists(BYTES, min_size=1, max_size=4).map(tuple),
    "cwd": BYTES,
    "environment": ENTRIES,
    "umask": st.integers(0, 0o777),
    "env_changes": ENTRIES,
    "stdin_file": st.none() | BYTES,
    "merge_output": st.booleans(),
    "leave_children": st.booleans(),
    "nice": st.integers(-20, 19),
    "policy": st.builds(Policy, **POLICY_FIELDS),
    "run_timeout": st.none() | INTEGERS,
    "job_timeout": st.none() | INTEGERS,
    "stop_grace": INTEGERS,
    "max_crashes": st.none() | st.integers(0, 2**40),
    "wait_mode": st.sampled_from(["all", "any"]),
    "wait_poll": INTEGERS,
    "probe_timeout": INTEGERS,
    "wait_abort_at": st.none() | INTEGERS,
    "note": st.none() | WORDS,
}


@one_store
@given(spec=st.builds(Spec, **SPEC_FIELDS))
def test_a_specification_comes_back_as_it_was_whatever_bytes_it_holds(store: Store, spec: Spec) -> None:
    with store.writing(durable=False):
        job = add_job(store, make_submission(spec, queue="q"))
    assert specs.load(store, job.id) == spec


def test_the_property_above_draws_every_field() -> None:
    assert set(SPEC_FIELDS) == set(Spec._fields)
    assert set(POLICY_FIELDS) == set(Policy._fields)


def test_equal_environments_are_stored_once_and_different_ones_apart(store: Store) -> None:
    with store.writing():
        ids = [specs.environment_id(store, entries) for entries in ((b"A=1",), (b"A=2",), (b"A=1",))]
    assert ids[0] == ids[2] != ids[1]
    assert store.row("SELECT count(*) FROM environments") == (2,)


@one_store
@given(RANGES)
def test_ranges_of_codes_come_back_as_they_were(ranges: tuple[tuple[int, int], ...]) -> None:
    assert specs.parse_ranges(specs.format_ranges(ranges)) == ranges


def test_ranges_read_as_a_person_would_write_them() -> None:
    assert specs.format_ranges(((0, 0), (3, 5))) == "0,3-5"

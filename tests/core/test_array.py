"""The indices of an array, and the jobs that they make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.array import MOST_JOBS, expand, parse_array
from inturn.errors import InturnError
from tests.builders import make_spec, make_submission


@pytest.mark.parametrize(
    ("text", "indices", "at_once"),
    [
        ("1-4,7%2", [1, 2, 3, 4, 7], 2),
        ("7", [7], None),
        ("0", [0], None),
        ("0-2", [0, 1, 2], None),
        ("5-5", [5], None),
        ("3,1,2", [3, 1, 2], None),
        ("10-12,1-2%1", [10, 11, 12, 1, 2], 1),
        ("1-3%100", [1, 2, 3], 100),
        ("1-3%unlimited", [1, 2, 3], None),
        ("007", [7], None),
    ],
)
def test_ranges_and_single_indices_are_taken_in_the_order_written(
    text: str, indices: list[int], at_once: int | None
) -> None:
    assert parse_array(text, "--array") == (indices, at_once)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", ",", "-", "%", "%2", "1,", ",1", "1-", "-1", "1--2", "1-2-3", "1;2", "1-5:2"),
        *("4-1", "1,1", "1-3,2", "5,1-9"),
        *("1%", "1%0", "1%-1", "1%1.5", "1%x", "1%2%3", "%2%1"),
        *("a", "1.5", "0x1", "1e3", "+1", "1_0", "٣", " 1", "1 ", "1, 2", "1\n2", "\udcff"),
        *(f"0-{MOST_JOBS}", f"1-{MOST_JOBS},0", "1-99999999999", f"1-{10**30}", "9" * 5000),
    ],
)
def test_nonsense_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(InturnError) as caught:
        parse_array(text, "--array")
    assert caught.value.code == "invalid_value"
    assert caught.value.message.startswith('--array: "')
    assert caught.value.message.isprintable()
    assert "1-4,7" in caught.value.hint


def test_the_largest_array_is_accepted() -> None:
    indices, _ = parse_array(f"1-{MOST_JOBS}", "--array")
    assert (indices[0], indices[-1], len(indices)) == (1, MOST_JOBS, MOST_JOBS)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30, unique=True), st.none() | st.integers(1, 99))
def test_what_is_written_is_read(indices: list[int], at_once: int | None) -> None:
    text = ",".join(map(str, indices)) + ("" if at_once is None else f"%{at_once}")
    assert parse_array(text, "--array") == (indices, at_once)


@given(st.text(max_size=12))
def test_any_text_is_a_list_of_indices_or_an_error(text: str) -> None:
    try:
        indices, _ = parse_array(text, "--array")
    except InturnError:
        return
    assert len(indices) == len(set(indices)) > 0


def test_each_index_is_a_job_that_knows_its_array() -> None:
    one = make_submission(queue="gpu", name="render", priority=3)
    jobs = expand(one, "4,2%1")
    assert [(job.array_index, job.array_size, job.at_once) for job in jobs] == [(4, 2, 1), (2, 2, 1)]
    for job in jobs:
        kept = job._replace(array_index=None, array_size=0, at_once=None)
        assert kept == one


@pytest.mark.parametrize(
    ("argv", "written"),
    [
        ((b"render", b"--frame", b"{}"), (b"render", b"--frame", b"12")),
        ((b"{}/{}.png",), (b"12/12.png",)),
        ((b"{{}}", b"{ }", b"{", b"}", b"", b"{0}"), (b"{12}", b"{ }", b"{", b"}", b"", b"{0}")),
        ((b"\xff{}\xfe",), (b"\xff12\xfe",)),
        ((b"sh", b"-c", b"echo $INTURN_ARRAY_INDEX"), (b"sh", b"-c", b"echo $INTURN_ARRAY_INDEX")),
    ],
)
def test_the_index_is_written_wherever_an_argument_says_so(
    argv: tuple[bytes, ...], written: tuple[bytes, ...]
) -> None:
    (job,) = expand(make_submission(make_spec(argv=argv)), "12")
    assert job.spec.argv == written


def test_an_array_has_no_key_which_all_its_jobs_would_share() -> None:
    with pytest.raises(InturnError, match="key") as caught:
        expand(make_submission(key="nightly"), "1-3")
    assert caught.value.code == "usage"

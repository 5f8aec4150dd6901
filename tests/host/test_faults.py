from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

import pytest

from inturn.host import faults


class Recorded:
    """A transaction that notes what becomes of it."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def __enter__(self) -> None:
        self._notes.append("begun")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._notes.append("committed" if error is None else f"undone by {error}")


@pytest.fixture
def notes() -> Iterator[list[str]]:
    yield []
    faults.disarm()


def fail() -> None:
    raise RuntimeError("the fault")


def test_a_point_that_is_not_armed_does_nothing(notes: list[str]) -> None:
    transaction = Recorded(notes)
    assert faults.commit("claim", transaction) is transaction
    faults.point("run.spawned")
    faults.arm("run.spawned", fail)
    faults.point("run.launched")
    with faults.commit("claim", transaction):
        pass
    assert notes == ["begun", "committed"]


@pytest.mark.parametrize(("times", "called"), [(1, 1), (2, 2), (None, 4)])
def test_an_armed_point_does_what_it_was_armed_with_so_many_times(
    notes: list[str], times: int | None, called: int
) -> None:
    faults.arm("run.spawned", lambda: notes.append("passed"), times)
    for _ in range(4):
        faults.point("run.spawned")
    assert notes == ["passed"] * called


def test_the_points_of_a_transaction_are_passed_just_before_and_after_its_commit(notes: list[str]) -> None:
    faults.arm("task.ended.commit", lambda: notes.append("before"))
    faults.arm("task.ended.committed", lambda: notes.append("after"))
    with faults.commit("task", Recorded(notes), "ended"):
        notes.append("written")
    assert notes == ["begun", "written", "before", "committed", "after"]


def test_a_transaction_that_fails_by_itself_passes_no_point(notes: list[str]) -> None:
    faults.arm("claim.commit", lambda: notes.append("before"))
    with pytest.raises(ValueError, match="no"), faults.commit("claim", Recorded(notes)):
        raise ValueError("no")
    assert notes == ["begun", "undone by no"]


def test_a_fault_before_the_commit_undoes_the_transaction(notes: list[str]) -> None:
    faults.arm("claim.commit", fail)
    with pytest.raises(RuntimeError, match="the fault"), faults.commit("claim", Recorded(notes)):
        pass
    assert notes == ["begun", "undone by the fault"]


def test_a_fault_after_the_commit_undoes_nothing(notes: list[str]) -> None:
    faults.arm("claim.committed", fail)
    with pytest.raises(RuntimeError, match="the fault"), faults.commit("claim", Recorded(notes)):
        pass
    assert notes == ["begun", "committed"]


def test_a_point_that_does_not_exist_cannot_be_armed(notes: list[str]) -> None:
    with pytest.raises(ValueError, match="there is no point 'run\\.span'"):
        faults.arm("run.span", fail)

"""What a process of supervisors does for all of them leaves nothing behind, whatever becomes of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from inturn import nursery
from inturn.errors import InturnError
from inturn.host import faults
from inturn.store.db import open_store
from inturn.store.transaction import CommitUnknown

FAILURES: dict[str, Callable[[], Exception]] = {
    "refused": lambda: InturnError("store_busy", "somebody else writes"),
    "unknown": lambda: CommitUnknown("it may be stored or not"),
    "unforeseen": lambda: RuntimeError("nobody has thought of this"),
}


@pytest.fixture
def store(tmp_path: Path) -> str:
    directory = str(tmp_path)
    open_store(directory, lambda tokens: None, create=True).close()
    return directory


def open_in(directory: str) -> list[str]:
    """The files of the store that this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:
            pass
    return [path for path in found if path.startswith(directory)]


def raising(failure: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise failure

    return fail


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("moment", ["commit", "committed"])
def test_whatever_comes_between_the_store_is_closed_by_who_accepts_for_all(
    store: str, kind: str, moment: str
) -> None:
    failure = FAILURES[kind]()
    faults.arm(f"task.accepted.{moment}", raising(failure))
    try:
        with suppress(RuntimeError):
            nursery._accept_all(store, ["nobody"])
    finally:
        faults.disarm()
    # It holds the frames, and all that is in them: nothing is closed by chance.
    assert failure.__traceback__ is not None
    assert open_in(store) == []


def test_the_store_is_closed_by_who_has_accepted_for_all(store: str) -> None:
    nursery._accept_all(store, ["nobody"])
    assert open_in(store) == []

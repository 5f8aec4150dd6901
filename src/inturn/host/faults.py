"""Crash points: the places where it matters what a process leaves behind that dies just there.

A point does nothing unless a test has armed it in this very process; no environment variable, no option and
no file can. Their names are in `inturn.host.crash_points`.
Armed in the same manner, `lose_hints` makes a process mute: nobody is woken by it any more.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Protocol, TypeVar

    class _Transaction(Protocol):
        def __enter__(self) -> object: ...
        def __exit__(
            self,
            kind: type[BaseException] | None,
            error: BaseException | None,
            trace: TracebackType | None,
            /,
        ) -> object: ...

    T = TypeVar("T", bound=_Transaction)

# Whether no hint of this process arrives anywhere; `inturn.host.wake` asks before it writes one.
hints_are_lost = False

# For each armed point: what is to be done, and how often still (None: always).
_armed: dict[str, tuple[Callable[[], object], int | None]] = {}


def point(name: str) -> None:
    """Pass a point: what a test has armed it with is done."""
    if _armed:
        _pass(name)


def commit(name: str, transaction: T, event: str = "") -> T:
    """The transaction, with its two points; `event` makes its name more precise."""
    if _armed:
        return _Watched(f"{name}.{event}" if event else name, transaction)  # type: ignore[return-value]
    return transaction


def arm(name: str, action: Callable[[], object], times: int | None = 1) -> None:
    """Have `action` called at the next `times` passages of a point, None for all of them."""
    from inturn.host.crash_points import POINTS

    if name not in POINTS:
        raise ValueError(f"there is no point {name!r}")
    _armed[name] = (action, times)


def lose_hints() -> None:
    """Have every hint of this process be lost, as if it died each time between its commit and its sending.

    Others then find out by their polls what it has committed: later, and with the same result.
    """
    global hints_are_lost
    hints_are_lost = True


def disarm() -> None:
    """Have nothing happen at any point any more, and hints arrive."""
    global hints_are_lost
    hints_are_lost = False
    _armed.clear()


def _pass(name: str) -> None:
    from inturn.host.crash_points import POINTS

    assert name in POINTS, name
    if name not in _armed:
        return
    action, times = _armed.pop(name)
    if times is None or times > 1:
        _armed[name] = (action, times and times - 1)
    action()


class _Watched:
    def __init__(self, name: str, transaction: _Transaction) -> None:
        self._name = name
        self._transaction = transaction

    def __enter__(self) -> object:
        return self._transaction.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object:
        if error is not None:
            return self._transaction.__exit__(kind, error, trace)
        try:
            _pass(f"{self._name}.commit")
        except BaseException as failure:
            self._transaction.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._transaction.__exit__(None, None, None)
        _pass(f"{self._name}.committed")
        return None

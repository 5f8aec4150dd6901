"""Named crash points: the places where it matters what a process leaves behind that dies just there.

A point does nothing unless a test has armed it in this very process; no environment variable, no option and
no file can. `docs/crash-points.md` says of each what is left behind, and how it is put right.
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

# What is done outside of transactions, in the order in which a job meets it.
ACTS = (
    # The submitting process, with one supervisor or with many.
    *("submit.locked", "submit.spawned", "submit.told", "submit.answered"),
    *("nursery.locked", "nursery.spawned", "nursery.hatched", "nursery.told", "nursery.answered"),
    # The process that forks supervisors, and those.
    *("nursery.forked", "nursling.locked", "nursling.reported"),
    # A supervisor, from its first instruction to its last.
    *("supervisor.started", "supervisor.told", "supervisor.unneeded", "supervisor.present"),
    *("supervisor.accepted", "supervisor.answered", "supervisor.done", "supervisor.left"),
    # A worker, or a command that is its own supervisor.
    *("presence.locked", "presence.complete", "presence.left"),
    # A run.
    *("run.launching", "run.logs_open", "run.spawned", "run.launched"),
    *("run.found", "run.closing", "run.closed"),
    *("signal.halt", "signal.continue", "signal.terminate", "signal.kill"),
    *("signalled.halt", "signalled.continue", "signalled.terminate", "signalled.kill"),
    # Whoever takes care of the jobs of the dead.
    *("recover.adopting", "recover.relaunching", "recover.forgotten", "recover.sweeping"),
    # A command that removes what has ended.
    "prune.sweeping",
)

# Write transactions. `X.commit` is passed when all of X is written but not committed, `X.committed` when it
# is, and nothing has been done about it yet.
COMMITS = (
    *("submit", "give_up", "enqueue", "rerun", "retry"),
    *("cancel", "act", "hold", "release", "limit", "configure", "prune", "repair"),
    *("present", "serve", "stop_accepting", "retire", "renew"),
    *("admit", "claim", "watch", "receipts", "observe", "identify"),
    # What an owner commits of its job: the events of the state machine.
    *("task.accepted", "task.gates_opened", "task.aborted", "task.timed_out", "task.cancelled"),
    *("task.started", "task.stop_requested", "task.leftovers_found"),
    *("task.ended", "task.repeated", "task.lost", "task.withdrawn"),
    *("bury", "resolve", "relaunch", "forget"),
)

POINTS = (
    *ACTS,
    *(f"{name}.commit" for name in COMMITS),
    *(f"{name}.committed" for name in COMMITS),
)

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

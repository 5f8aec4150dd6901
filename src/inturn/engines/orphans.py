"""Orphans of runs, which become children of the process that started the runs, since it is a subreaper."""

from __future__ import annotations

from inturn.host import spawn, tree

# How often an empty list of orphans is asked for again.
_LOOKS = 3
_LOOKS_AT_MOST = 100


class _Census:
    """How many leaders have been reaped here, and how many had been when last no orphan was to be seen."""

    reaped = 0
    without_orphans = 0


_census = _Census()


def note_reaped() -> int:
    """Another leader has been reaped; returns as how-manieth."""
    _census.reaped += 1
    return _census.reaped


def note_none() -> None:
    """There is no orphan to be seen."""
    _census.without_orphans = _census.reaped


def left_nobody(reaped_as: int) -> bool:
    """Whether it is known of a leader, by when it was reaped (0: not here), that it has left nobody.

    The orphans of a process are handed on before it is a zombie: who had been reaped when there were none
    has left none.
    """
    return 0 < reaped_as <= _census.without_orphans


def strangers() -> set[int]:
    """Our children that we have not started: orphans of some run.

    The kernel's list of children is not to be trusted while they end: it may pass over those that follow.
    That there are no children at all is certain, so an empty list is a contradiction if none are awaited.
    """
    looks = 0
    while True:
        tree.reap(spawn.awaited)
        if not tree.has_children():
            return set()
        found = set(tree.children()) - spawn.awaited
        looks += 1
        if found or looks == (_LOOKS if spawn.awaited else _LOOKS_AT_MOST):
            return found

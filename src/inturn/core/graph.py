"""Cycles among jobs that are submitted together."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def find_cycle(waits_for: Mapping[str, Sequence[str]]) -> list[str] | None:
    """A path that leads back to where it began, first name repeated at its end, or None.

    Iterative: a file may hold a chain of a hundred thousand jobs.
    """
    finished: set[str] = set()
    for start in waits_for:
        if start in finished:
            continue
        path: list[str] = [start]
        on_path = {start}
        ways: list[Iterator[str]] = [iter(waits_for[start])]
        while ways:
            following = next(ways[-1], None)
            if following is None:
                ways.pop()
                on_path.discard(path[-1])
                finished.add(path.pop())
            elif following in on_path:
                return [*path[path.index(following) :], following]
            elif following not in finished:
                path.append(following)
                on_path.add(following)
                ways.append(iter(waits_for.get(following, ())))
    return None

"""Which jobs may be removed without taking from others what they still need. Jobs are their ids here."""

from __future__ import annotations

from inturn.core.layout import JOBS_PER_DIRECTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple


class Removal(NamedTuple):
    """What may be removed, and what must stay though it was picked.

    `removable` is in descending order: those that depend on others mostly come before them, and the first job
    of an array, which stands for the array itself, after its other jobs.
    """

    removable: tuple[int, ...]
    needed: tuple[int, ...]
    arrays: tuple[int, ...]


def choose(
    picked: Mapping[int, int | None], needs: Iterable[tuple[int, int]], sizes: Mapping[int, int]
) -> Removal:
    """Leave out of the `picked` jobs, given with their arrays, what cannot be spared.

    `needs` are pairs (job, dependent): the dependent has not ended, or could not be judged anew without the
    job. `sizes` are how many jobs each array has: one is removed as a whole or not at all, so that it may be
    named, and its limit be kept, as long as there is anything of it.
    """
    left = dict(picked)
    needed: list[int] = []
    broken: list[int] = []
    needs_of: dict[int, list[int]] = {}
    for job, dependent in needs:
        if job in picked:
            needs_of.setdefault(dependent, []).append(job)
    members: dict[int, list[int]] = {}
    for job, array in picked.items():
        if array is not None:
            members.setdefault(array, []).append(job)
    for array, found in members.items():
        if len(found) < sizes.get(array, 0):
            broken += found
    # Whoever stays keeps what it needs, and that the rest of its array.
    staying = [dependent for dependent in needs_of if dependent not in picked] + broken
    for job in broken:
        del left[job]
    while staying:
        for job in needs_of.pop(staying.pop(), ()):
            if job in left:
                array = left.pop(job)
                needed.append(job)
                staying.append(job)
                for other in members.get(array, ()) if array is not None else ():
                    if left.pop(other, _GONE) is not _GONE:
                        broken.append(other)
                        staying.append(other)
    return Removal(tuple(sorted(left, reverse=True)), tuple(sorted(needed)), tuple(sorted(broken)))


def behind(there: Iterable[int], last: int) -> list[int]:
    """The directories of logs, by number, that no job yet to come will use; `last` is the last id ever given.

    Ids are never used again: once they are behind they stay so. The newest of all is left out: a store whose
    database was lost would pass for a new one if there were no trace of logs (`host.store_dir.store_state`).
    """
    return [number for number in sorted(there)[:-1] if number < last // JOBS_PER_DIRECTORY]


_GONE = -1

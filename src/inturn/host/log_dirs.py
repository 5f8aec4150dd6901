"""The directories that logs lie in: `logs/N`, each for the jobs of a thousand ids; see `core.layout`."""

from __future__ import annotations

import os

from inturn.host import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def numbers(directory: str) -> list[int]:
    """The numbers of all such directories of the store in `directory`; other names are nobody's business."""
    try:
        with os.scandir(os.path.join(directory, paths.LOGS)) as found:
            return [int(one.name) for one in found if _is_ours(one)]
    except OSError:
        return []


def empty(directory: str, chosen: Iterable[int]) -> list[int]:
    """Those of the `chosen` in which there is nothing."""
    return [number for number in chosen if _is_empty(_path(directory, number))]


def remove_empty(directory: str, chosen: Iterable[int]) -> int:
    """Remove those of the `chosen` in which there is nothing; how many that were.

    One with anything in it stays, whoever has put it there, and so does one that cannot be removed: an empty
    directory more does no harm.
    """
    removed = 0
    for number in chosen:
        try:
            os.rmdir(_path(directory, number))
            removed += 1
        except OSError:
            continue
    return removed


def _path(directory: str, number: int) -> str:
    return os.path.join(directory, paths.LOGS, str(number))


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Whether it is a directory with a name as we write it: 7 and not 07."""
    name = entry.name
    is_number = name.isascii() and name.isdecimal() and str(int(name)) == name
    return is_number and entry.is_dir(follow_symlinks=False)


def _is_empty(path: str) -> bool:
    try:
        with os.scandir(path) as found:
            return next(found, None) is None
    except OSError:
        return False

"""The files of a store, and its directories: who has removed one gets it back."""

from __future__ import annotations

import os

from inturn.core.layout import DATABASE
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

LOGS = "logs"
OWNERS = "owners"

DIRECTORIES = (LOGS, OWNERS)


def owner_files(directory: str, token: str) -> tuple[str, str]:
    """The paths of an owner's lock and of its FIFO."""
    stem = os.path.join(directory, OWNERS, token)
    return stem + ".lock", stem + ".wake"


def tokens_of_files(directory: str) -> set[str]:
    """The tokens of all owners of which a file is there; none if the directory of these files is gone."""
    try:
        names = os.listdir(os.path.join(directory, OWNERS))
    except FileNotFoundError:
        return set()
    return {name.rpartition(".")[0] for name in names if name.endswith((".lock", ".wake"))}


def discard(*files: str) -> None:
    """Remove files that somebody else may have removed already."""
    for path in files:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass


def create_within(path: str, create: Callable[[str], T]) -> T:
    """What `create` gives for `path`, whose directory is made again if it is missing from a store.

    Raises as `create` and `make_again`.
    """
    try:
        return create(path)
    except FileNotFoundError:
        make_again(os.path.dirname(path))
        return create(path)


def make_again(path: str) -> None:
    """Make a directory of a store (0700) that somebody has removed: without it every job would fail.

    Raises OSError, or InturnError `store_unusable` if something else has the name.
    """
    # A store that is being removed is not to come back half.
    os.stat(os.path.join(os.path.dirname(path), DATABASE))
    make(path)


def make(path: str) -> None:
    """Make a directory of a store (0700), or the store itself, unless it is there. Raises as `make_again`."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise refused(f"{path} is not a directory", "Move it away, or name another store.") from None
        return
    # A umask can only have taken rights away: from the owner, if it is a very odd one.
    if os.stat(path).st_mode & 0o700 != 0o700:
        os.chmod(path, 0o700)


def refused(message: str, hint: str) -> InturnError:
    """What to raise about a store that is not to be used."""
    return InturnError("store_unusable", message, hint)

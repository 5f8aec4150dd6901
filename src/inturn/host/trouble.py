"""What the system's errors about files of the store mean to a user."""

from __future__ import annotations

import errno
import os

from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

# What is no fault of the store, but of the moment, with what to do about it.
_OF_THE_MOMENT = {
    errno.ENOSPC: "Free some space and try again.",
    errno.EDQUOT: "Free some space and try again.",
    errno.EMFILE: "Too many files are open; see: ulimit -n",
    errno.ENFILE: "Too many files are open on this machine; try again.",
    errno.EINTR: "Try again.",
    errno.ENOMEM: "Free some memory and try again.",
}


class explaining:  # noqa: N801 - used like a function
    """Errors of the system that are raised inside, and are about a file of the store, become InturnError.

    `store_unusable`, or `failed` for those that pass. What is about anything else, or about a descriptor
    without a name, passes untouched.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError) and isinstance(error.filename, (str, bytes)):
            path = os.fsdecode(error.filename)
            if path == self._directory or path.startswith(self._directory + "/"):
                raise _explained(path, error) from error


def _explained(path: str, error: OSError) -> InturnError:
    if error.errno in _OF_THE_MOMENT:
        return InturnError("failed", f"{path} cannot be used: {error.strerror}", _OF_THE_MOMENT[error.errno])
    if error.errno == errno.EROFS:
        return _unusable(f"{path} cannot be written: {error.strerror}", "Check its permissions and mount.")
    return _unusable(f"{path} cannot be used: {error.strerror}", "See what is wrong with it: inturn doctor")


def _unusable(message: str, hint: str) -> InturnError:
    return InturnError("store_unusable", message, hint)

"""Where a process without a terminal says what it died of: `errors.log` in the store."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

FILE_NAME = "errors.log"

# Enough to find a fault, and never enough to fill a disk.
MOST_BYTES = 1 << 20


class keep:  # noqa: N801 - used like a function
    """An exception that leaves the body is written down with its traceback, and goes on."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, FILE_NAME)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, SystemExit):
            note(self._path, error)


def note(path: str, error: BaseException) -> None:
    """Write an exception with its traceback into the diary at `path`. Raises nothing."""
    import traceback

    _write(path, "".join(traceback.format_exception(error)))


def _write(path: str, text: str) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, 0o600)
        try:
            if os.fstat(fd).st_size < MOST_BYTES:
                os.write(fd, f"{stamp} process {os.getpid()}\n{text}\n".encode("utf-8", "replace"))
        finally:
            os.close(fd)
    except OSError:
        pass  # There is nobody left to tell.

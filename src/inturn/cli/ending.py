"""How a command ends that has failed, or whose output goes nowhere, and with which exit code."""

from __future__ import annotations

import errno
import os
import sys

from inturn.cli import output
from inturn.errors import InturnError

# The exit code of each error code; what is not here is FAILED.
EXIT_CODES = {
    "usage": 2,
    "invalid_value": 2,
    "config_invalid": 2,
    "impossible": 2,
    "unknown_pool": 2,
    "unknown_reference": 2,
    "cycle": 2,
    "contradiction": 2,
    "not_found": 3,
    "ambiguous": 4,
    "conflict": 5,
    "incomplete": 6,
}
FAILED = 1

# What a file that output goes to may answer; of all that is written by us without a name, this alone is one.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def fail(error: InturnError, as_json: bool) -> int:
    """Tell an error, as a document or in words; returns the exit code that belongs to it."""
    try:
        output.report(error, as_json)
    except BrokenPipeError:
        pass  # Nobody wants to be told.
    except OSError:
        _tell_at_least(error)
    drop_output()
    return EXIT_CODES.get(error.code, FAILED)


def _tell_at_least(error: InturnError) -> None:
    """Tell on standard error what could not be told as a document."""
    try:
        output.report(error, as_json=False)
    except OSError:
        pass  # Nobody can be told.


def fail_to_write(error: OSError, as_json: bool) -> int:
    """An error of the system may be about our output, and only say that its reader has gone: then it is none.

    Returns the exit code.
    """
    gone = isinstance(error, BrokenPipeError) and _reader_is_gone()
    refusal = drop_output()
    if gone:
        return 0
    if refusal is None and error.filename is None and error.errno in _NO_ROOM:
        refusal = error  # Nothing was left in our hands, so that it could not be refused once more.
    if refusal is None:
        return fail(unexpected(error), as_json)
    return fail_on_output(output.Unwritten(refusal))


def fail_on_output(error: output.Unwritten) -> int:
    """Tell that standard output refuses what is written there: in words, since a document would go there too.

    Returns the exit code.
    """
    return fail(error, as_json=False)


def unexpected(error: Exception) -> InturnError:
    """What is told of an exception that nobody has foreseen; on request, its traceback is printed at once."""
    if os.environ.get("INTURN_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    from inturn.cli.unexpected import described

    found = described(error)
    return InturnError(found.code, found.message, found.hint or "INTURN_DEBUG=1 shows where it came from.")


def _reader_is_gone() -> bool:
    """Whether it is our output that nobody reads any more.

    Other pipes can break too, such as the one to a supervisor that has died, and that is no quiet end.
    """
    import select

    try:
        fd = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return False
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def drop_output() -> OSError | None:
    """Write out what is left, or throw it away and return why: the interpreter would try again at its end."""
    if sys.stdout is None:
        return None
    try:
        sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return problem
    return None

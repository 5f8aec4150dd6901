"""The one error that inturn raises on purpose, and the closed registry of its codes."""

from __future__ import annotations

CODES = (
    "usage",  # the command line does not parse, or options exclude each other
    "invalid_value",  # an option's value is nonsense
    "config_invalid",  # the configuration file is wrong: file, line and path are in the message
    "impossible",  # a request that can never fit its pool or the store-wide limit
    "unknown_pool",
    "unknown_reference",  # an @ref that no line of the file defines
    "cycle",  # dependencies that lead back to the job itself
    "contradiction",  # several edges to one job that no outcome satisfies
    "not_found",  # no such job
    "ambiguous",  # a name that several jobs have
    "conflict",  # the job's present state does not allow it
    "incomplete",  # done in part, or an awaited job did not succeed
    "store_unusable",  # foreign, unsafe, newer, damaged, read-only, or gone while it was in use
    "store_busy",  # the store stayed locked beyond the deadline
    "submission_failed",  # no supervisor took the job over
    "failed",  # anything else that the operating system refused
)


class InturnError(Exception):
    """Something that a user can understand and act on.

    `code` is one of CODES and stable for programs; `message` says what and where; `hint`, if not empty,
    says what to do. Which exit code belongs to it is the command line's business.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        assert code in CODES, code
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # By itself it would be made anew of the message alone, when it comes from another process.
        return type(self), (self.code, self.message, self.hint)


def unknown_commit(failure: Exception) -> InturnError:
    """What a user is told of a commit of which nobody knows what became of it."""
    return InturnError(
        "failed", str(failure), "It may have been done all the same: look before you try again."
    )

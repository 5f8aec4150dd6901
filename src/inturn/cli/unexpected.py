"""What is said of an exception that nobody has foreseen."""

from __future__ import annotations

from inturn.core.duration import quoted
from inturn.errors import InturnError, unknown_commit
from inturn.store.transaction import CommitUnknown


def described(error: Exception) -> InturnError:
    """Any exception as one for users: as it is, or with its class and text, and then without a hint."""
    if isinstance(error, InturnError):
        return error
    if isinstance(error, CommitUnknown):
        return unknown_commit(error)
    if isinstance(error, UnicodeEncodeError):
        # Bytes that are no text came as far as the database, which has nothing but text to compare them with.
        return InturnError("invalid_value", f"{quoted(error.object)} is not valid UTF-8", "Use another name.")
    return InturnError("failed", f"unexpected {type(error).__name__}: {error}")

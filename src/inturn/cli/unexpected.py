"""What is said of an exception that nobody has foreseen."""

from __future__ import annotations

from inturn.errors import InturnError, unknown_commit
from inturn.store.transaction import CommitUnknown


def described(error: Exception) -> InturnError:
    """Any exception as one for users: as it is, or with its class and text, and then without a hint."""
    if isinstance(error, InturnError):
        return error
    if isinstance(error, CommitUnknown):
        return unknown_commit(error)
    return InturnError("failed", f"unexpected {type(error).__name__}: {error}")

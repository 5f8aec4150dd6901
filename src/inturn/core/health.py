"""What an examination of a store has found."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from inturn.core.wire_values import Json
else:
    from inturn.core.records import NamedTuple

OK, NOTE, PROBLEM = "ok", "note", "problem"


class Finding(NamedTuple):
    """One thing that was looked at. `check` is a stable word, `severity` is OK, NOTE or PROBLEM.

    `message` is a sentence without an end, `fix` what to do: a command, or words; empty if there is nothing.
    """

    severity: str
    check: str
    message: str
    fix: str = ""


def document(finding: Finding) -> Json:
    """A finding as JSON."""
    return {
        "severity": finding.severity,
        "check": finding.check,
        "message": finding.message,
        "fix": finding.fix or None,
    }

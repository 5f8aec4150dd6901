"""How a dry run is shown: whether the job would start now, why or why not, and all that would be stored."""

from __future__ import annotations

from inturn.cli.result import Result
from inturn.cli.text import printable
from inturn.core import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from inturn.core.reasons import Reason
    from inturn.service.preview import Preview

# What a job that does not exist has none of.
_NOT_YET = ("id", "owner", "runs", "events", "admission", "dependents", "submitted_at", "bypass_count")


def show(preview: Preview) -> Result:
    """The result of a dry run."""
    if preview.dossier is None:
        data: dict[str, Any] = {"would_submit": False, "would_start": False, "job_id": preview.twin}
        text = f"would submit\tno: job {preview.twin} has this key and is not completed"
        return Result(data=data, lines=lambda: [text])
    document = wire.dossier(preview.dossier, values=False)
    resolved = {name: value for name, value in document.items() if name not in _NOT_YET}
    data = {"would_submit": True, "would_start": preview.starts, **resolved}
    reasons = preview.dossier.reasons

    def lines() -> Iterator[str]:
        yield f"would start now\t{'yes' if preview.starts else 'no'}"
        yield from _because(reasons, "because")
        yield from _fields(resolved, "")

    return Result(data=data, lines=lines)


def _because(reasons: tuple[Reason, ...], word: str) -> Iterator[str]:
    for reason in reasons:
        yield f"{word}\t{printable(reason.message)}"
        yield from _because(reason.because, f"{word} of that")


def _fields(document: dict[str, Any], prefix: str) -> Iterator[str]:
    """What is set, one line each; the members of a mapping under its name."""
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _fields(value, f"{prefix}{name}.")
        elif name == "environment":
            yield f"{prefix}{name}\t{len(value)} variables"
        elif name != "reasons" and value not in (None, [], "", False):
            yield f"{prefix}{name}\t{_text(name, value)}"


def _text(name: str, value: object) -> str:
    if not isinstance(value, list):
        return printable(str(value))
    if name == "argv":
        import shlex

        return printable(shlex.join(value))
    parts = (
        " ".join(f"{key}={one}" for key, one in part.items() if one not in (None, [], ""))
        if isinstance(part, dict)
        else str(part)
        for part in value
    )
    return printable(", ".join(parts))

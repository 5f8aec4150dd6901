"""How a dry run is shown: whether the job would start now, why or why not, and all that would be stored."""

from __future__ import annotations

from inturn.cli.result import Result
from inturn.cli.text import printable
from inturn.core import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from inturn.core.reasons import Reason
    from inturn.core.schema import Schema
    from inturn.service.preview import Preview


# What a job that does not exist has none of; and what is told in words, or further down.
_NOT_YET = ("id", "owner", "runs", "events", "admission", "dependents", "submitted_at", "bypass_count")
_TOLD = ("would_submit", "would_start", "reasons", "argv")


def show(previews: Sequence[Preview]) -> Result:
    """The result of a dry run: of one job, or a list of several."""
    documents = [_document(one) for one in previews]

    def lines() -> Iterator[str]:
        for number, (one, document) in enumerate(zip(previews, documents, strict=True), 1):
            if len(previews) > 1:
                yield f"job\t{number}"
            yield from _lines(one, document)

    return Result(data=documents[0] if len(documents) == 1 else documents, lines=lines)


def _document(preview: Preview) -> dict[str, Any]:
    if preview.dossier is None:
        return {"would_submit": False, "would_start": False, "job_id": preview.twin}
    document = wire.dossier(preview.dossier, values=False)
    resolved = {name: value for name, value in document.items() if name not in _NOT_YET}
    return {"would_submit": True, "would_start": preview.starts, **resolved}


def schema() -> Schema:
    """Of what is told of one job; the first form is that of a job whose key another one has."""
    from inturn.core.schema import ID, always, either, record
    from inturn.core.wire_schema import planned

    twin = record({"would_submit": always(False), "would_start": always(False), "job_id": ID})
    return either(twin, planned(_NOT_YET))


def _lines(preview: Preview, document: dict[str, Any]) -> Iterator[str]:
    if preview.dossier is None:
        yield f"would submit\tno: job {preview.twin} has this key and is not completed"
        return
    yield f"would start now\t{'yes' if preview.starts else 'no'}"
    yield from _because(preview.dossier.reasons, "because")
    yield from _fields({name: value for name, value in document.items() if name not in _TOLD}, "")


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
        elif value not in (None, [], "", False):
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

"""The answer of the verbs that change jobs: a line for each, and what could not be done to it."""

from __future__ import annotations

from inturn.cli.ending import EXIT_CODES
from inturn.cli.result import Result
from inturn.core.phrases import label
from inturn.service import acting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inturn.core.schema import Schema
    from inturn.service.acting import Acted
    from inturn.service.context import Context


# What was not done.
UNCHANGED = "unchanged"


def answer(
    context: Context,
    acted: Sequence[Acted],
    participle: str,
    hint: str,
    tell: Callable[[Acted], str] | None = None,
) -> Result:
    """What became of each job; `participle` is what was done, `tell` says it at length.

    Raises InturnError if nothing was done to any of them: `conflict` with the `hint`, mostly.
    """
    refusal = acting.refusal(acted, participle, hint)
    if refusal is not None:
        if refusal.code != "incomplete":
            raise refusal
        context.notice(refusal.message)
    sentences = [
        f"{label(one.job.id, one.job.name)}: {one.refusal or (tell(one) if tell else participle)}"
        for one in acted
    ]
    return Result(
        data=[document(one, participle) for one in acted],
        lines=lambda: (f"{one.job.id}\t{verdict(one, participle)}" for one in acted),
        rich=lambda console: console.print("\n".join(sentences), markup=False),
        code=0 if refusal is None else EXIT_CODES[refusal.code],
    )


def verdict(one: Acted, participle: str) -> str:
    """What was done to a job, in one word."""
    return UNCHANGED if one.refusal else participle


def document(one: Acted, participle: str) -> dict[str, object]:
    """The same for programs; `problem` is why nothing was done."""
    job = one.job
    return {
        "id": job.id,
        "name": job.name,
        "result": verdict(one, participle),
        "problem": one.refusal or None,
        "phase": job.phase,
        "status": job.status,
        "outcome": job.outcome,
    }


def schema(participle: str) -> Schema:
    """Of what became of one job."""
    from inturn.core.schema import ID, TEXT, maybe, one_of, record
    from inturn.core.wire_schema import OUTCOME, PHASE, STATUS

    return record(
        {
            "id": ID,
            "name": maybe(TEXT),
            "result": one_of((participle, UNCHANGED)),
            "problem": maybe(TEXT),
            "phase": PHASE,
            "status": STATUS,
            "outcome": maybe(OUTCOME),
        }
    )

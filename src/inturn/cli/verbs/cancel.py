"""`inturn cancel`: end jobs, whether they wait or run."""

from __future__ import annotations

from inturn.cli import selection
from inturn.cli.ending import EXIT_CODES
from inturn.cli.result import Result
from inturn.core.phrases import label
from inturn.service import control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from inturn.core.schema import Schema
    from inturn.service.context import Context
    from inturn.service.control import Cancelled


HELP = "end jobs: those that wait at once, those that run by TERM, the grace period and KILL"
EXAMPLES = ("inturn cancel 7", "inturn cancel prepare shard-1", "inturn cancel --tag project=x --yes")
CREATES = False
TIDIES = "all"

# What a filter without --status picks, and what completion offers.
JOBS = ("live",)

_TOLD = {"cancelled": "cancelled", "stopping": "is being stopped", "ended": "had ended before"}


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    selection.configure(parser)
    selection.configure_consent(parser)
    parser.epilog = (
        f"{parser.epilog}\n\nThe columns in a pipe: id, and cancelled, stopping (its owner is ending its"
        "\nprocesses; see inturn wait) or ended (before; it is left as it is)."
    )


def execute(args: Namespace, context: Context) -> Result:
    """Cancel the jobs. Raises InturnError `conflict` if all of them had ended, or what `selection` raises."""
    ids = selection.pick_with_consent(args, context, JOBS, "cancelled")
    results = control.cancel(context, ids)
    refusal = control.refusal(results)
    if refusal is not None:
        if refusal.code == "conflict":
            raise refusal
        context.notice(refusal.message)
    return Result(
        data=[_document(result) for result in results],
        lines=lambda: (f"{result.job.id}\t{result.verdict}" for result in results),
        rich=lambda console: console.print("\n".join(_sentences(results)), markup=False),
        code=0 if refusal is None else EXIT_CODES[refusal.code],
    )


def _document(result: Cancelled) -> dict[str, object]:
    job = result.job
    return {
        "id": job.id,
        "name": job.name,
        "result": result.verdict,
        "phase": job.phase,
        "outcome": job.outcome,
    }


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import ID, TEXT, many, maybe, one_of, record
    from inturn.core.wire_schema import OUTCOME, PHASE

    return many(
        record(
            {
                "id": ID,
                "name": maybe(TEXT),
                "result": one_of(_TOLD),
                "phase": PHASE,
                "outcome": maybe(OUTCOME),
            }
        )
    )


def _sentences(results: Sequence[Cancelled]) -> Iterator[str]:
    return (f"{label(result.job.id, result.job.name)}: {_TOLD[result.verdict]}" for result in results)

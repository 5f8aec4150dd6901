"""`inturn recover`: take care of the jobs whose owners have died."""

from __future__ import annotations

from inturn.cli.ending import EXIT_CODES
from inturn.cli.result import Result
from inturn.core.phrases import label
from inturn.service import query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence
    from typing import NamedTuple

    from inturn.core.job import Job
    from inturn.core.schema import Schema
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple

HELP = "take care of the jobs whose owners have died, now or after every restart of the machine"
EXAMPLES = ("inturn recover", "inturn recover --at-boot install", "inturn recover --at-boot status")
CREATES = False

_SENTENCES = {
    "relaunched": "has a new supervisor",
    "adopted": "runs on, watched by a new supervisor",
    "lost": "its run is gone, and its result with it",
    "returned": "its run was never started: it is back in line",
    "ended": "its run was over, and how was known",
    "failed": "nobody had taken it over",
    "unverified": "whether it is alive cannot be told from here: it is left as it is",
}


class Treated(NamedTuple):
    """A job, as it is now, and what was done about it."""

    job: Job
    what: str


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "--at-boot",
        choices=("install", "remove", "status"),
        help="have this done whenever the machine has started (by systemd, else by cron); no more; or tell",
    )
    parser.epilog = (
        f"{parser.epilog}\n\nThe columns in a pipe: id, what was done ({', '.join(_SENTENCES)}),"
        "\nand the job's status after it."
    )


def execute(args: Namespace, context: Context) -> Result:
    """Recover. The exit code is 6 if something could not be verified."""
    if args.at_boot is not None:
        from inturn.cli.at_boot import do

        return do(args.at_boot, context)
    from inturn.app import recover

    findings = recover(context)
    jobs = {
        view.job.id: view.job
        for view in query.look_at(context, dict.fromkeys(str(one.job_id) for one in findings), False)
    }
    treated = [Treated(jobs[one.job_id], one.what) for one in findings]
    unverified = any(one.what == "unverified" for one in treated)
    if unverified:
        context.notice("some owners or runs cannot be verified from here; see inturn doctor")
    return Result(
        data=[_document(one) for one in treated],
        lines=lambda: (f"{one.job.id}\t{one.what}\t{one.job.status}" for one in treated),
        rich=lambda console: console.print("\n".join(_sentences(treated)), markup=False),
        code=EXIT_CODES["incomplete"] if unverified else 0,
    )


def _document(one: Treated) -> dict[str, object]:
    job = one.job
    return {
        "id": job.id,
        "name": job.name,
        "result": one.what,
        "phase": job.phase,
        "status": job.status,
        "outcome": job.outcome,
    }


def schema() -> Schema:
    """Of the answer with --json: what was done, or how it stands with --at-boot."""
    from inturn.cli import at_boot
    from inturn.core.schema import ID, TEXT, either, many, maybe, one_of, record
    from inturn.core.wire_schema import OUTCOME, PHASE, STATUS

    treated = record(
        {
            "id": ID,
            "name": maybe(TEXT),
            "result": one_of(_SENTENCES),
            "phase": PHASE,
            "status": STATUS,
            "outcome": maybe(OUTCOME),
        }
    )
    return either(many(treated), at_boot.schema())


def _sentences(treated: Sequence[Treated]) -> Iterator[str]:
    if not treated:
        yield "nothing had to be recovered"
    for one in treated:
        yield f"{label(one.job.id, one.job.name)} ({one.job.status}): {_SENTENCES[one.what]}"

"""Which jobs a verb is about: named one by one, or picked by what they have in common."""

from __future__ import annotations

from inturn.cli.values import LARGEST_INTEGER, value_of
from inturn.core.duration import parse_integer
from inturn.core.options import read, switch
from inturn.core.phrases import label
from inturn.core.views import UMBRELLAS, Filters, check_status
from inturn.errors import InturnError
from inturn.service import query
from inturn.service.select import resolve_many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from inturn.core.job import Job
    from inturn.core.views import View
    from inturn.service.context import Context

    # A status, or several.
    Wanted = str | Sequence[str]

# How many of the jobs that a filter has picked are shown before something is done to them.
_SHOWN = 20


def configure(parser: ArgumentParser, queue: bool = True) -> None:
    """Add JOB… and the filters that may stand instead; without `queue`, --queue is left to the verb."""
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="an id, a name, or name@latest")
    parser.add_argument(
        "--status",
        action="append",
        default=[],
        metavar="STATUS",
        help=f"instead of JOB: all in this state, or {', '.join(UMBRELLAS)}; repeatable",
    )
    for name, metavar, about in (
        ("queue", "QUEUE", "with this queue"),
        ("tag", "KEY[=VALUE]", "with this tag"),
        ("array", "ID", "of this array"),
    ):
        if name == "queue" and not queue:
            continue
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar=metavar,
            help=f"instead of JOB: all {about}; repeatable",
        )


def configure_consent(parser: ArgumentParser) -> None:
    """Add --yes, for a verb that does something to the jobs."""
    parser.add_argument("--yes", action="store_true", help="do it to all that a filter picks")


def pick(args: Namespace, context: Context, default_status: Wanted = ()) -> list[int]:
    """The ids of the jobs that are meant, oldest first if a filter picked them.

    A filter without --status picks those of `default_status`, one word or several. Raises InturnError `usage`
    if neither jobs nor filters were given, or both; `not_found` if there are none; `ambiguous`;
    `invalid_value`.
    """
    filters = _filters(args, context)
    if filters == Filters():
        if not args.jobs:
            raise InturnError(
                "usage",
                "no job was named",
                "Name jobs, or pick them with --status, --queue, --tag or --array.",
            )
        return resolve_many(context, args.jobs)
    if args.jobs:
        raise InturnError("usage", "jobs and filters exclude each other", "Leave one of them out.")
    return [job.id for job in _picked(context, filters, default_status)]


def pick_with_consent(args: Namespace, context: Context, default_status: Wanted, what: str) -> list[int]:
    """As `pick`; but more than one job picked by a filter is only shown, unless there is a --yes.

    `what` would be done to them, as a participle. Raises InturnError `usage` in that case, too.
    """
    ids = pick(args, context, default_status)
    if args.jobs or len(ids) == 1 or args.yes:
        return ids
    for view in query.look_at(context, map(str, ids[:_SHOWN]), False):
        context.notice(f"{label(view.job.id, view.job.name)}: {view.job.status}")
    if len(ids) > _SHOWN:
        context.notice(f"and {len(ids) - _SHOWN} more")
    raise InturnError("usage", f"these {len(ids)} jobs would be {what}", "If you mean them all, add --yes.")


def _filters(args: Namespace, context: Context) -> Filters:
    return Filters(
        statuses=tuple(value_of("--status", check_status, text) for text in args.status),
        queues=tuple(args.queue),
        pools=tuple(getattr(args, "pool", ())),
        tags=tuple(read("tag", args.tag, context.now(), switch)),
        arrays=tuple(value_of("--array", _array, text) for text in args.array),
    )


def _array(text: str) -> int:
    return parse_integer(text, 1, LARGEST_INTEGER)


def _picked(context: Context, filters: Filters, default_status: Wanted) -> list[Job]:
    wanted = (default_status,) if isinstance(default_status, str) else tuple(default_status)
    by_default = bool(wanted) and not filters.statuses
    if by_default:
        filters = filters._replace(statuses=wanted)
    found = query.listing(context, filters, None, False, _job)
    if not found:
        state = f" that is {' or '.join(wanted)}" if by_default else ""
        raise InturnError(
            "not_found", f"the filters match no job{state}", "See which there are: inturn list --all"
        )
    return found[::-1]


def _job(view: View) -> Job:
    return view.job

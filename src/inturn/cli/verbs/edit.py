"""`inturn edit`: change jobs that have not been started."""

from __future__ import annotations

import os

from inturn.cli import acting, selection
from inturn.cli.options import Words
from inturn.core.edit import Changes
from inturn.core.options import OPTIONS, read, switch
from inturn.errors import InturnError
from inturn.service import edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from inturn.cli.result import Result
    from inturn.core.moment import Now
    from inturn.core.schema import Schema
    from inturn.service.acting import Acted
    from inturn.service.context import Context


HELP = "change jobs that have not been started: place in line, queue, pool, slots, delay, command"
EXAMPLES = (
    "inturn edit 7 --priority 10",
    "inturn edit 7 --pool analysis --slots 2",
    "inturn edit 7 --after 1h",
    "inturn edit 7 -- make -j8 all",
    "inturn edit --tag project=x --yes --queue slow",
)
CREATES = False
TIDIES = "all"
COMMAND = "dashes"

# What a filter without --status picks, and what completion offers.
JOBS = ("submitting", "waiting", "scheduled", "backoff", "queued", "paused")

# The options of a submission that may be changed, and the fields of Changes that they set.
_FIELDS = {
    "priority": "priority",
    "queue": "queue",
    "pool": "pool",
    "slots": "slots",
    "after": "delay",
    "at": "at",
    "name": "name",
    "note": "note",
}

_HELP = {
    "queue": "move it to another queue; not for a supervised job",
    "after": "start it so long from now at the earliest",
    "at": "start it at this time at the earliest",
    "priority": "higher first",
    "slots": "how many slots",
    "note": "a remark for people; '' removes it",
}


def parse(words: Sequence[str], given: dict[str, object]) -> Words:
    """The options and JOBs in front of `--`, and the command behind it. Raises InturnError `usage`."""
    import sys

    from inturn.cli.parser import build

    place = words.index("--") if "--" in words else len(words)
    front, command = words[:place], list(words[place + 1 :])
    if not {"-h", "--help"}.isdisjoint(front):
        return Words({"help": True}, [])
    if place < len(words) and not command:
        raise InturnError("usage", "there is no command behind --", "Write it there, or leave the -- out.")
    namespace = build("edit", sys.modules[__name__]).parse(front, given)
    return Words(vars(namespace), command)


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.usage = "inturn edit JOB… [OPTIONS] [-- COMMAND [ARG…]]"
    selection.configure(parser, queue=False)
    selection.configure_consent(parser)
    group = parser.add_argument_group("what is to be different")
    for name in _FIELDS:
        option = OPTIONS[name]
        group.add_argument(switch(name), metavar=option.metavar, help=_HELP.get(name, option.help))
    group.add_argument("--no-pool", action="store_true", help="take it out of its pool")
    group.add_argument("-c", metavar="STRING", help="another command, for sh -c; or write it behind --")
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: id, and edited or unchanged."


def execute(words: Words, context: Context) -> Result:
    """Edit the jobs. Raises InturnError `conflict` if all of them have been started, and as a submission."""
    from argparse import Namespace

    from inturn.cli.echo import echo_times
    from inturn.service import configure
    from inturn.service.defaults import submission_rules

    args = Namespace(**words.values)
    now = context.now()
    changes = _changes(args, words.command, now)
    if not changes.fields:
        raise InturnError(
            "usage", "nothing is to be changed", "Say what is to be different: inturn edit --help"
        )
    # Here --queue and --pool are no filters.
    who = Namespace(**{**words.values, "queue": [], "pool": []})
    ids = selection.pick_with_consent(who, context, JOBS, "edited")
    configure.defaults(context, submission_rules(context))  # applies a file that has changed
    acted = edit.edit(context, ids, changes)
    if args.at is not None:
        echo_times({"at": args.at}, now, context.notice)
    return acting.answer(context, acted, "edited", "What has been started is as it is.", _told)


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import many

    return many(acting.schema("edited"))


def _changes(args: Namespace, command: Sequence[str], now: Now) -> Changes:
    _check_exclusions(args, command)
    found = {}
    for name, field in _FIELDS.items():
        text = getattr(args, name)
        if text is not None:
            found[field] = read(name, _as_utf8(text), now, switch)
    if args.no_pool:
        found["pool"] = ""
    if args.c is not None:
        found["argv"] = (b"sh", b"-c", read("c", _as_utf8(args.c), now, switch))
    elif command:
        found["argv"] = tuple(map(os.fsencode, command))
    return Changes(**found)


def _as_utf8(text: str) -> str:
    """The core decodes and encodes as UTF-8, whatever the locale with which Python has decoded our words."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def _check_exclusions(args: Namespace, command: Sequence[str]) -> None:
    for one, other, both in (
        ("--after", "--at", None not in (args.after, args.at)),
        ("--pool", "--no-pool", args.pool is not None and args.no_pool),
        ("-c", "a command of its own", args.c is not None and bool(command)),
    ):
        if both:
            raise InturnError("usage", f"{one}: it excludes {other}", "Leave one of the two out.")


def _told(one: Acted) -> str:
    return f"edited; it is {one.job.status}"

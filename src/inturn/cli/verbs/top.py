"""`inturn top`: a full-screen view that keeps up with the store, and acts on jobs by keys."""

from __future__ import annotations

import sys

from inturn.cli.result import Result
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inturn.service.context import Context

HELP = "watch and steer jobs, queues and pools on a full screen"
EXAMPLES = ("inturn top", "inturn --dir ./store top")
CREATES = False

_EXTRA = "pip install 'inturn[top]'"


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments, of which there are none."""
    parser.description = (
        "Shows jobs, queues and pools as they change, and of the selected job why it is where it is,\n"
        f"its dependencies and its log. ? lists the keys, q ends it. It needs textual: {_EXTRA}"
    )


def execute(args: Namespace, context: Context) -> Result:
    """Show it until it is ended. Raises InturnError `usage` without a terminal, `failed` without textual."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if args.json or not all(stream is not None and stream.isatty() for stream in streams):
        raise InturnError(
            "usage", "top is a view for a terminal", "For a program: inturn events --follow --json"
        )
    if context.store is not None:
        context.store.close()  # each thread of the view opens it for itself
    try:
        from inturn.cli.top.app import Top
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] != "textual":
            raise
        raise InturnError("failed", "top needs the library textual, which is not installed", _EXTRA) from None

    def reopen() -> Context:
        from inturn.app import open_context

        # What it has to say belongs to the screen, and it was said before that came.
        return open_context(context.directory, args.config, False, lambda _: None)

    view = Top(context.directory, reopen, context.now)
    view.run()
    return Result(code=view.return_code or 0)

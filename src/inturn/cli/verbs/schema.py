"""`inturn schema`: what our JSON looks like, as JSON Schema."""

from __future__ import annotations

from inturn.cli.result import Result
from inturn.cli.text import did_you_mean
from inturn.cli.verbs import ALIASES
from inturn.core.duration import quoted
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from inturn.core.schema import Schema
    from inturn.service.context import Context

HELP = "print the JSON Schema of what a verb answers with --json, or of lines for --from-file"
EXAMPLES = ("inturn schema list", "inturn schema from-file", "inturn schema > inturn.schema.json")
CREATES = False


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "document",
        nargs="?",
        metavar="VERB",
        help="a verb; or from-file: a line that run and add read; or event: a line of events --follow --json;"
        " without it: all of them in one document, under $defs",
    )
    parser.epilog = (
        f"{parser.epilog}\n\nThe dialect is 2020-12. With --json, the schema stands in our envelope."
    )


def execute(args: Namespace, _context: Context) -> Result:
    """Print a schema. Raises InturnError `usage` for what has none."""
    from inturn.cli import schemas

    if args.document is None:
        return _result(schemas.everything())
    name = ALIASES.get(args.document, args.document)
    known = schemas.names()
    if name not in known:
        close = did_you_mean(name, known)
        raise InturnError(
            "usage", f"{quoted(name)} has no schema{close}", f"There are schemas of {', '.join(known)}."
        )
    return _result(schemas.document(name))


def schema() -> Schema:
    """Of the answer with --json: a schema itself."""
    return {"type": "object"}


def _result(document: Schema) -> Result:
    def lines() -> Iterator[str]:
        import json

        yield from json.dumps(document, indent=2).splitlines()

    return Result(document, lines)

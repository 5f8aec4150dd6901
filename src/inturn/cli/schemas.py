"""The JSON Schemas of all that is written and read as JSON, from the verbs' own descriptions."""

from __future__ import annotations

from inturn.cli.output import SCHEMA_VERSION
from inturn.cli.verbs import VERBS
from inturn.core.lines_schema import line
from inturn.core.schema import DIALECT, TEXT, always, one_of, part, parts_of, record
from inturn.core.wire_schema import DEFINITIONS
from inturn.errors import CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from inturn.core.schema import Schema

# What is no answer of a verb in its envelope.
FROM_FILE, EVENT = "from-file", "event"

_ERROR = record({"code": one_of(CODES), "message": TEXT, "hint": TEXT})


def names() -> tuple[str, ...]:
    """The verbs that answer in JSON, then what else has a schema."""
    return (*(verb for verb in VERBS if hasattr(_module(verb), "schema")), FROM_FILE, EVENT)


def document(name: str) -> Schema:
    """The schema of one of `names`, complete in itself."""
    return _complete(f"urn:inturn:schema:{SCHEMA_VERSION}:{name}", _title(name), _bare(name))


def everything() -> Schema:
    """One document that defines all of them, under their names."""
    defined = {name: {"title": _title(name), **_bare(name)} for name in names()}
    bare = {"anyOf": [part(_key(name)) for name in defined]}
    whole = _complete(f"urn:inturn:schema:{SCHEMA_VERSION}", "All that inturn writes or reads as JSON", bare)
    needed = _needed(defined)
    return {**whole, "$defs": {**{_key(name): it for name, it in defined.items()}, **needed}}


def _key(name: str) -> str:
    """How a document is called among the definitions, whose own names it must not take."""
    return f"inturn-{name}" if name in VERBS else f"{name}-line"


def _title(name: str) -> str:
    if name == FROM_FILE:
        return "A line of what inturn run or inturn add read with --from-file"
    if name == EVENT:
        return "A line of inturn events --follow --json"
    return f"The answer of inturn {name} --json"


def _bare(name: str) -> Schema:
    if name == FROM_FILE:
        return line()
    if name == EVENT:
        return part("event")
    return _envelope(_module(name).schema())


def _envelope(data: Schema) -> Schema:
    """Either data or an error, and the version."""
    answer = record({"schema_version": always(SCHEMA_VERSION)}, {"data": data, "error": _ERROR})
    return answer | {"oneOf": [{"required": ["data"]}, {"required": ["error"]}]}


def _complete(urn: str, title: str, bare: Schema) -> Schema:
    return {"$schema": DIALECT, "$id": urn, "title": title, **bare, "$defs": _needed(bare)}


def _needed(schema: object) -> dict[str, Schema]:
    """The definitions that a schema refers to, and those that they refer to."""
    found: dict[str, Schema] = {}
    todo = sorted(parts_of(schema) & set(DEFINITIONS))
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = DEFINITIONS[name]
            todo += sorted(parts_of(found[name]))
    return dict(sorted(found.items()))


def _module(verb: str) -> Any:
    return __import__(f"inturn.cli.verbs.{verb}", fromlist=["schema"])

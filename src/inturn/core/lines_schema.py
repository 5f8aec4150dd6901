"""A line of a submitted file, as JSON Schema, from the table of options.

It is a little wider than what is accepted: what a text means, and what excludes what, is judged by the
submission.
"""

from __future__ import annotations

from inturn.core.options import OPTIONS
from inturn.core.schema import FLAG, TEXT, either, many, one_of, record, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.options import Option
    from inturn.core.schema import Schema

_LANE = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

# The kinds that numbers may stand for as well as texts.
_NUMBERS: dict[str, Schema] = {
    "duration": {"type": ["string", "number"], "minimum": 0},
    "time": {"type": ["string", "number"]},
    "limit": {"type": ["integer", "string"], "minimum": 1, "pattern": "^([0-9]+|unlimited)$"},
    "count": {"type": ["integer", "string"], "minimum": 0, "pattern": "^([0-9]+|unlimited)$"},
    "codes": {"type": ["integer", "string"]},
    "signal": {"type": ["integer", "string"]},
    "job": {"type": ["string", "integer"]},
    "lane": {"type": ["string", "number"], "pattern": _LANE},
}


def line() -> Schema:
    """One line: an object."""
    own: dict[str, Schema] = {
        "command": told("the argument vector", {**many(TEXT), "minItems": 1}),
        "ref": told('other lines may depend on it as "@ref"', {"type": "string", "minLength": 1}),
        "array": told("one job for each index: 1-4,7%2", {"type": ["string", "integer"]}),
        "each": told("dependencies on arrays go index by index", FLAG),
    }
    options = {name: _described(option) for name, option in OPTIONS.items()}
    return record({}, {**own, **options}) | {"oneOf": [{"required": ["command"]}, {"required": ["c"]}]}


def _described(option: Option) -> Schema:
    text = option.help + (f" (inturn {option.only} only)" if option.only else "")
    one = _value(option)
    return told(text, either(one, many(one)) if option.repeatable else one)


def _value(option: Option) -> Schema:
    if option.kind == "flag":
        return FLAG
    if option.kind == "integer":
        return {"type": ["integer", "string"], "minimum": option.low, "maximum": option.high}
    if option.kind == "choice":
        return one_of(option.choices)
    return _NUMBERS.get(option.kind, {"type": ["string", "number"]})

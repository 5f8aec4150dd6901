"""JSON Schema (2020-12) as data: the few forms of which ours are made."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ID: Schema = {"type": "integer", "minimum": 1}
TIME: Schema = {"type": "string", "format": "date-time"}
SECONDS: Schema = {"type": "number", "minimum": 0}
BASE64: Schema = {"type": "string", "contentEncoding": "base64"}


def record(fields: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with all of these `fields`, perhaps the `optional` ones, and no others."""
    return {
        "type": "object",
        "properties": {**fields, **(optional or {})},
        "required": list(fields),
        "additionalProperties": False,
    }


def mapping(values: Schema) -> Schema:
    """An object with any keys."""
    return {"type": "object", "additionalProperties": values}


def many(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def either(*schemas: Schema) -> Schema:
    """Any of these."""
    return {"anyOf": list(schemas)}


def one_of(words: Iterable[str]) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(words)}


def always(value: object) -> Schema:
    """Nothing but this value."""
    return {"const": value}


def maybe(schema: Schema) -> Schema:
    """What `schema` allows, or null."""
    if not isinstance(schema.get("type"), str):
        return either(schema, {"type": "null"})
    allowed = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        allowed["enum"] = [*schema["enum"], None]
    return allowed


def told(text: str, schema: Schema) -> Schema:
    """`schema` with a word about what it is."""
    return {**schema, "description": text}


def part(name: str) -> Schema:
    """What is defined under this name beside the schema."""
    return {"$ref": f"#/$defs/{name}"}


def parts_of(schema: object) -> set[str]:
    """The names of the definitions that a schema refers to."""
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return {reference.removeprefix("#/$defs/")}
        return {name for value in schema.values() for name in parts_of(value)}
    if isinstance(schema, list):
        return {name for value in schema for name in parts_of(value)}
    return set()

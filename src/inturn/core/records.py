"""`class Job(NamedTuple)` for the type checker, `collections.namedtuple` for the interpreter.

`typing` costs every waiting supervisor 1.2 MB and `dataclasses` costs a submission 10 ms, so snapshots are
declared with this stand-in:

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from typing import NamedTuple
    else:
        from inturn.core.records import NamedTuple
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Maker(type):
    """Turns the annotations of a class body into the fields of a named tuple; keeps defaults and methods."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(mcs, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = tuple(body.pop(field) for field in fields if field in body)
        made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # type: ignore[misc]
        for key, value in body.items():
            if key not in ("__module__", "__qualname__", "__annotations__", "__dict__"):
                setattr(made, key, value)
        return made


class NamedTuple(metaclass=_Maker):
    """Base of the project's records; see the module's docstring."""

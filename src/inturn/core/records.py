"""`class Job(NamedTuple)` for the type checker, a lean tuple with names for the interpreter.

`typing` costs every waiting supervisor 1.2 MB and `dataclasses` costs a submission 10 ms, so snapshots are
declared with this stand-in:

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from typing import NamedTuple
    else:
        from inturn.core.records import NamedTuple

It does what `typing.NamedTuple` does with these declarations. `collections.namedtuple` would too, but it
compiles a constructor for each class: with fifty classes that is 3 ms of a submission.
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, ClassVar, Self

_new = tuple.__new__

# In the place of a default that there is not.
_MISSING = object()


class _Record(tuple):  # type: ignore[type-arg]
    """What all records can do."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()
    _field_defaults: ClassVar[Mapping[str, Any]] = {}
    _defaults: ClassVar[tuple[Any, ...]] = ()  # one for each field
    _needed: ClassVar[int] = 0  # so many fields up to the last one without a default

    def __new__(cls, *values: Any, **named: Any) -> Self:
        given = len(values)
        if named:
            values += tuple(map(named.pop, cls._fields[given:], cls._defaults[given:]))
        elif given != len(cls._defaults):
            values += cls._defaults[given:]
        if named or len(values) != len(cls._defaults) or given < cls._needed:
            cls._check(values, named)
        return _new(cls, values)

    @classmethod
    def _check(cls, values: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Raise TypeError if there is no value for a field, or no field for a value."""
        for field, value in zip(cls._fields, values, strict=False):
            if value is _MISSING:
                raise TypeError(f"{cls.__name__}() needs a value for {field!r}")
        wrong = [*values[len(cls._fields) :], *named]
        if wrong:
            raise TypeError(f"{cls.__name__}() has no room for {wrong}")

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        made = _new(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"{cls.__name__}() needs {len(cls._fields)} values, not {len(made)}")
        return made

    def _replace(self, **changes: Any) -> Self:
        made = _new(type(self), map(changes.pop, self._fields, self))
        if changes:
            raise ValueError(f"{type(self).__name__} has no field {', '.join(changes)}")
        return made

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        shown = [f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class _Maker(type):
    """Turns the annotations of a class body into the fields of a record; keeps defaults and methods."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(mcs, name, bases, body)
        fields = tuple(body.pop("__annotations__", ()))
        body["_field_defaults"] = {field: body[field] for field in fields if field in body}
        defaults = tuple(body.get(field, _MISSING) for field in fields)
        body["_defaults"] = defaults
        body["_needed"] = max((at + 1 for at, one in enumerate(defaults) if one is _MISSING), default=0)
        for number, field in enumerate(fields):
            body[field] = _tuplegetter(number, None)
        body["_fields"] = body["__match_args__"] = fields
        body["__slots__"] = ()
        return type(name, (_Record,), body)


class NamedTuple(metaclass=_Maker):
    """Base of the project's records; see the module's docstring."""
